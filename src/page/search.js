// The field filters statements and claims by words; a link to a claim opens the folds around it. Without this script the
// page has no field and shows everything.
const search = document.getElementById("search"), field = search.querySelector("input"), told = search.querySelector("output");
const all = selector => [...document.querySelectorAll(selector)];
const greek = {α: "alpha", β: "beta", γ: "gamma", δ: "delta", ε: "epsilon", η: "eta", κ: "kappa", λ: "lambda", μ: "mu", ξ: "xi",
  π: "pi", ρ: "rho", σ: "sigma", τ: "tau", φ: "phi", ω: "omega"};
const plain = text => text.toLowerCase().replace(/[α-ω]/g, letter => greek[letter] || letter);
const opened = new Set();
let rows;

// A statement is found by its id too, and a claim by the title of its result.
function read_rows() {
  const row = (element, more) => ({element, text: plain(more + " " + element.textContent)});
  const statements = all(".statements tbody > tr").map(element => row(element, element.id));
  const claims = all(".result .claims > tbody").map(element => {
    const result = element.closest(".result");
    return row(element, result.id + " " + result.querySelector("h3").textContent);
  });
  return {statements, claims};
}

function filter() {
  rows ??= read_rows();
  const words = plain(field.value).split(/\s+/).filter(Boolean), searching = words.length > 0;
  const found = list => list.filter(({element, text}) => !(element.hidden = !words.every(word => text.includes(word))));
  const statements = found(rows.statements), claims = found(rows.claims);
  const hits = new Set();
  for (const {element} of searching ? [...statements, ...claims] : [])
    for (let part = element; part && part.tagName !== "MAIN" && !hits.has(part); part = part.parentElement) hits.add(part);
  for (const part of all("main > *, .result, .result details:has(.claims)")) part.hidden = searching && !hits.has(part);
  for (const heading of all("main > h2")) heading.hidden = heading.nextElementSibling.hidden;
  for (const fold of all(".result details:has(.claims)")) {
    if (hits.has(fold) && !fold.open) opened.add(fold);
    if (hits.has(fold) || opened.has(fold)) fold.open = hits.has(fold);
  }
  if (!searching) opened.clear();
  told.textContent = searching ? `${statements.length} of ${rows.statements.length} statements, ${claims.length} of ${rows.claims.length} claims` : "";
}

function show_target() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (field.value) {
    field.value = "";
    filter();
  }
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView();
}

search.hidden = false;
search.addEventListener("submit", event => event.preventDefault());
field.addEventListener("input", filter);
addEventListener("hashchange", show_target);
const mark = ({target}) => target.classList.toggle("wide", target.scrollWidth > target.clientWidth);
const widths = new ResizeObserver(seen => requestAnimationFrame(() => seen.forEach(mark)));
all(".picture").forEach(picture => widths.observe(picture));
if (location.hash) show_target();
