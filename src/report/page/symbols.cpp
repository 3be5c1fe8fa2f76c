#include "report/page/symbols.hpp"

namespace ranklab {
namespace {

// Formulas as MathML. A letter or a sign stands for itself; strings are concatenated into rows.
std::string mi(const std::string& name) {
  return "<mi>" + name + "</mi>";
}
std::string mn(const std::string& number) {
  return "<mn>" + number + "</mn>";
}
std::string mo(const std::string& sign) {
  return "<mo>" + sign + "</mo>";
}
std::string row(const std::string& content) {
  return "<mrow>" + content + "</mrow>";
}
std::string frac(const std::string& above, const std::string& below) {
  return "<mfrac>" + row(above) + row(below) + "</mfrac>";
}
std::string sub(const std::string& base, const std::string& index) {
  return "<msub>" + row(base) + row(index) + "</msub>";
}
std::string sup(const std::string& base, const std::string& power) {
  return "<msup>" + row(base) + row(power) + "</msup>";
}
const std::string bars = "<mo stretchy=\"false\">\u2016</mo>";
std::string norm(const std::string& of, const std::string& which) {
  return sub(bars + of + bars, which);
}
std::string squared_norm(const std::string& of, const std::string& which) {
  return "<msubsup>" + row(bars + of + bars) + row(which) + mn("2") + "</msubsup>";
}
const std::string open = "<mo stretchy=\"false\">(</mo>", close = "<mo stretchy=\"false\">)</mo>";
std::string of(const std::string& function, const std::string& argument) {
  return mi(function) + open + argument + close;
}
std::string math(const std::string& formula) {
  return "<math>" + row(formula) + "</math>";
}

const std::string equals = mo("="), minus = mo("\u2212"), F = mi("F"), op = mi("op"),
                  star = mo("*");
const std::string A = mi("A"), G = mi("G"), W = mi("W"), X = mi("X"), Y = mi("Y"),
                  lambda = mi("\u03BB"), tau = mi("\u03C4");

std::string entry(const std::string& term, const std::string& meaning) {
  return "<div><dt>" + term + "</dt><dd>" + meaning + "</dd></div>\n";
}

std::string ranks() {
  const std::string gradient_step = W + minus + frac(G, sub(mi("L"), F));
  const std::string spectral_step =
      W + minus + frac(norm(G, star), sub(mi("L"), op)) + of("polar", G);
  return entry("stable rank st",
               math(of("st", A) + equals + frac(squared_norm(A, F), squared_norm(A, op))) +
                   " for activations <i>A</i> (one column per sample)") +
         entry("nuclear rank nr",
               math(of("nr", G) + equals + frac(squared_norm(G, star), squared_norm(G, F))) +
                   " for a gradient <i>G</i>;  \u2016\u00B7\u2016<sub>*</sub> is the sum of the "
                   "singular values") +
         entry("GD, SpecGD",
               math(gradient_step) + " and " + math(spectral_step) +
                   ", where polar(<i>G</i>) sets the singular values to 1, " +
                   math(sub(mi("L"), F) + equals + frac(squared_norm(A, op), mi("n"))) + " and " +
                   math(sub(mi("L"), op) + equals + frac(squared_norm(A, F), mi("n")))) +
         entry("condition (1.5)",
               math(of("nr", G) + mo("\u2265") + of("st", A)) +
                   ": the guaranteed decrease of a SpecGD step is then at least that of a GD step; "
                   "eq. (1.8) requires the condition for every layer");
}

std::string depth() {
  const std::string ones = mn("1") + sup(mn("1"), mi("T"));
  const std::string stack = sub(Y, mi("k")) + equals + mi("D") + open + mi("M") +
                            sub(Y, mi("k") + minus + mn("1")) + sub(mi("C"), mi("V")) + mo("+") +
                            lambda + sub(Y, mi("k") + minus + mn("1")) + close;
  return entry("\u03BB", math(stack) +
                             ": the strength of the skip connection, where <i>D</i> divides each "
                             "row (token) by its norm and <i>M</i> mixes tokens") +
         entry("\u03BC",
               math(of("\u03BC", Y) + equals +
                    norm(Y + minus + frac(mn("1"), mi("N")) + ones + Y, F)) +
                   ", the distance from equal tokens; normalized \u03BC is " +
                   math(frac(mi("\u03BC"), norm(Y, F))) +
                   " and lies in [0, 1]. It does not detect that tokens are anti-parallel") +
         entry("rank-one residual",
               math(mn("1") + minus +
                    frac("<msubsup>" + mi("\u03C3") + mn("1") + mn("2") + "</msubsup>",
                         squared_norm(Y, F))) +
                   ", which is 0 if all tokens are parallel or anti-parallel") +
         entry("t<sub>sim</sub>, t<sub>div</sub>",
               math(sub(mi("t"), mi("sim")) + equals +
                    frac(squared_norm(sub(mi("\u03A0"), mn("1")) + X, F), squared_norm(X, F))) +
                   ", " +
                   math(sub(mi("t"), mi("div")) + equals + mn("1") + minus +
                        sub(mi("t"), mi("sim"))) +
                   "; " +
                   math(sub(mi("\u03A0"), mn("1")) + equals + frac(mn("1"), mi("n")) + ones) +
                   " projects onto the mean of the tokens, " +
                   math(sub(mi("\u03A0"), mn("2")) + equals + mi("I") + minus +
                        sub(mi("\u03A0"), mn("1")))) +
         entry("\u03BE<sub>1</sub>/\u03BE<sub>2</sub>",
               math(sub(mi("\u03BE"), mi("i")) + equals +
                    frac(squared_norm(sub(mi("\u03A0"), mi("i")) + Y, F),
                         squared_norm(sub(mi("\u03A0"), mi("i")) + X, F))) +
                   " for a step from <i>X</i> to <i>Y</i>; token similarity increases if " +
                   math(sub(mi("\u03BE"), mn("1")) + mo("/") + sub(mi("\u03BE"), mn("2")) +
                        mo("&gt;") + mn("1"))) +
         entry("\u03C4",
               math(open + mi("I") + minus + tau + sub(mi("\u03A0"), mn("1")) + close + X) +
                   ": de-escalation removes the fraction \u03C4 of the mean of the tokens");
}

}  // namespace

std::string symbols_html() {
  return "<details id=\"symbols\"><summary>Symbols</summary>\n<dl class=\"symbols\">\n" + ranks() +
         depth() + "</dl></details>\n";
}

}  // namespace ranklab
