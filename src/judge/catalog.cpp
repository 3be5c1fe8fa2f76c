#include "judge/catalog.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <stdexcept>

#include "judge/references.hpp"
#include "papers.hpp"  // the files of experiments/papers as text

namespace ranklab {
namespace {

constexpr std::array<std::array<const char*, 2>, consequences> words_of_consequences = {
    {{"harmless", "harmless"},
     {"constant", "changes a constant"},
     {"range", "changes a range"},
     {"conclusion", "changes a conclusion"}}};

Consequence consequence_from(const std::string& name) {
  for (std::size_t i = 0; i < consequences; ++i)
    if (name == words_of_consequences[i][0]) return static_cast<Consequence>(i);
  throw std::logic_error("the catalog of statements has an unknown consequence: " + name);
}

// Without the references behind its numbers.
std::string words(const nlohmann::json& text) {
  return without_references(text.get<std::string>());
}

Slip slip_from(const nlohmann::json& json) {
  return {json.at("id"),
          words(json.at("says")),
          json.at("where"),
          json.at("type"),
          consequence_from(json.at("consequence")),
          json.at("place"),
          json.at("printed"),
          json.at("corrected"),
          json.at("derivation").get<std::vector<std::string>>(),
          json.value("answer", "")};
}

PaperStatement statement_from(const nlohmann::json& json) {
  PaperStatement out{json.at("id"),
                     json.at("name"),
                     json.at("section"),
                     json.at("type"),
                     words(json.at("says")),
                     words(json.at("hypotheses")),
                     {},
                     words(json.value("not_judged", "")),
                     words(json.value("scale", "")),
                     json.value("pictures", std::vector<std::string>()),
                     json.value("proof", std::vector<std::string>()),
                     json.value("uses", std::vector<std::string>()),
                     json.value("in_later", "")};
  if (json.contains("figure")) {
    out.shows = words(json["figure"].at("shows"));
    out.seen = words(json["figure"].at("seen"));
    out.differs = words(json["figure"].value("differs", ""));
  }
  if (json.contains("slip")) out.slips.push_back(slip_from(json["slip"]));
  for (const nlohmann::json& slip : json.value("more_slips", nlohmann::json::array()))
    out.slips.push_back(slip_from(slip));
  return out;
}

AuthorsCode code_from(const nlohmann::json& json) {
  AuthorsCode out{json.at("repository"),
                  json.at("commit"),
                  json.at("date"),
                  json.at("says"),
                  json.at("taken").get<std::vector<std::string>>(),
                  {}};
  for (const nlohmann::json& run : json.at("runs"))
    out.runs.push_back({run.at("figure"), run.at("seed"), run.at("found")});
  return out;
}

Paper paper_from(const nlohmann::json& json) {
  const std::string name = json.at("paper"), arxiv = json.at("arxiv"), version = json.at("version");
  Paper out{"[" + name + "]",
            name,
            json.at("anchor"),
            json.at("authors"),
            json.at("title"),
            "arXiv:" + arxiv + version,
            {},
            {},
            {}};
  for (const nlohmann::json& later : json.value("later", nlohmann::json::array()))
    out.later.push_back({later.at("version"), later.at("date"), later.at("read")});
  if (json.contains("code")) out.code = code_from(json["code"]);
  for (const nlohmann::json& statement : json.at("statements")) {
    try {
      out.statements.push_back(statement_from(statement));
    } catch (const nlohmann::json::exception& error) {
      throw std::logic_error("the catalog of " + name + ", statement " +
                             statement.value("id", "without an id") + ": " + error.what());
    }
  }
  return out;
}

// A statement rests on others of the catalog.
void check_uses(const std::vector<Paper>& papers) {
  std::set<std::string> ids;
  for (const Paper& paper : papers)
    for (const PaperStatement& statement : paper.statements) ids.insert(statement.id);
  for (const Paper& paper : papers)
    for (const PaperStatement& statement : paper.statements)
      for (const std::string& used : statement.uses) {
        if (!ids.contains(used))
          throw std::logic_error("the catalog: " + statement.id + " uses '" + used +
                                 "', which is no statement");
      }
}

// A paper whose file gives no order comes after those whose files do.
constexpr int files_without_order = 1000;

std::vector<Paper> read_catalog() {
  try {
    std::vector<nlohmann::json> files;
    for (const std::span<const char* const> pieces : paper_files) {
      std::string text;
      for (const char* piece : pieces) text += piece;
      files.push_back(nlohmann::json::parse(text));
    }
    std::stable_sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
      return a.value("order", files_without_order) < b.value("order", files_without_order);
    });
    std::vector<Paper> out;
    for (const nlohmann::json& file : files) out.push_back(paper_from(file));
    check_uses(out);
    return out;
  } catch (const nlohmann::json::exception& error) {
    throw std::logic_error(std::string("the catalog of statements is damaged: ") + error.what());
  }
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

}  // namespace

bool is_named(const Paper& paper, const std::string& words) {
  const std::string wanted = lower(words);
  return wanted == paper.anchor || wanted == lower(paper.name) || wanted == lower(paper.key);
}

std::string in_full(const std::string& words) {
  constexpr std::pair<const char*, const char*> short_forms[] = {
      {"thm", "Theorem"}, {"prop", "Proposition"}, {"cor", "Corollary"}, {"lem", "Lemma"},
      {"fig", "Figure"},  {"sec", "Section"},      {"tab", "Table"}};
  const std::size_t space = words.find(' ');
  std::string first = lower(words.substr(0, space));
  if (space == std::string::npos) return words;
  if (first.ends_with('.')) first.pop_back();
  for (const auto& [abbreviated, whole] : short_forms) {
    if (first == abbreviated || first == lower(whole)) return whole + words.substr(space);
  }
  return words;
}

bool is_named(const PaperStatement& statement, const std::string& words) {
  const std::string wanted = lower(in_full(words)), name = lower(statement.name),
                    id = lower(statement.id);
  return wanted == name || name.starts_with(wanted + ",") || name.ends_with(", " + wanted) ||
         wanted == id || wanted == id.substr(id.find('/') + 1);
}

bool PaperStatement::is_numbered() const {
  constexpr std::array<std::string_view, 5> numbered = {"theorem", "lemma", "proposition",
                                                        "corollary", "remark"};
  return std::find(numbered.begin(), numbered.end(), type) != numbered.end();
}

const char* words_of(Consequence consequence) {
  return words_of_consequences[static_cast<std::size_t>(consequence)][1];
}

const char* name_of(Consequence consequence) {
  return words_of_consequences[static_cast<std::size_t>(consequence)][0];
}

const Slip* PaperStatement::slip(std::string_view slip_id) const {
  const auto found = std::find_if(slips.begin(), slips.end(),
                                  [&](const Slip& slip) { return slip.id == slip_id; });
  return found == slips.end() ? nullptr : &*found;
}

const std::vector<Paper>& papers() {
  static const std::vector<Paper> catalog = read_catalog();
  return catalog;
}

std::size_t paper_of(std::string_view key) {
  std::size_t i = 0;
  while (i < papers().size() && papers()[i].key != key) ++i;
  return i;
}

const CatalogPlace* find_place(std::string_view statement_id) {
  static const std::map<std::string, CatalogPlace, std::less<>> places = [] {
    std::map<std::string, CatalogPlace, std::less<>> out;
    for (std::size_t paper = 0; paper < papers().size(); ++paper) {
      const std::vector<PaperStatement>& statements = papers()[paper].statements;
      for (std::size_t i = 0; i < statements.size(); ++i)
        out.emplace(statements[i].id, CatalogPlace{paper, i});
    }
    return out;
  }();
  const auto found = places.find(statement_id);
  return found == places.end() ? nullptr : &found->second;
}

const PaperStatement* find_statement(std::string_view statement_id) {
  const CatalogPlace* place = find_place(statement_id);
  return place == nullptr ? nullptr : &papers()[place->paper].statements[place->statement];
}

std::vector<const PaperStatement*> users_of(const PaperStatement& statement) {
  std::vector<const PaperStatement*> out;
  for (const Paper& paper : papers()) {
    for (const PaperStatement& each : paper.statements)
      if (std::ranges::find(each.uses, statement.id) != each.uses.end()) out.push_back(&each);
  }
  return out;
}

std::string versions_read(const Paper& paper) {
  if (paper.later.empty()) return "";
  const std::string number = paper.number();
  std::string out = "the text that was read is " + number.substr(number.rfind('v'));
  for (const LaterVersion& each : paper.later)
    out += "; " + each.version + " of " + each.date +
           (each.read ? " was read, too" : " exists and was not read");
  return out;
}

std::string paper_of_statement(std::string_view statement_id) {
  const CatalogPlace* place = find_place(statement_id);
  return place == nullptr ? "" : papers()[place->paper].name;
}

}  // namespace ranklab
