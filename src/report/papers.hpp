// The papers that results and claims refer to: their keys in "source" and the prefixes of claim
// ids.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace ranklab {

struct Paper {
  std::string_view key, ids, anchor, authors, title, version;
};

inline constexpr std::array<Paper, 3> papers = {{
    {"[Spectral]", "spectral/", "spectral", "D. Davis, D. Drusvyatskiy",
     "When do spectral gradient updates help in deep learning?", "arXiv:2512.04299"},
    {"[LambdaSkip]", "lambda-skip/", "lambda-skip",
     "F. Arangath Joseph, J. Sieber, M. N. Zeilinger, C. Amo Alonso",
     "Lambda-Skip Connections: the architectural component that prevents Rank Collapse",
     "arXiv:2410.10609v2"},
    {"[Shallow]", "shallow/", "shallow", "Y. Yu, Y. Zhang",
     "Why \"classic\" Transformers are shallow and how to make them go deep", "arXiv:2312.06182v2"},
}};

/// The index of the paper with this key, or papers.size().
constexpr std::size_t paper_of(std::string_view key) {
  std::size_t i = 0;
  while (i < papers.size() && papers[i].key != key) ++i;
  return i;
}

/// "LambdaSkip" for "lambda-skip/fig-1/...". Ids of a user's layers begin with the layers' names;
/// their condition is from [Spectral].
constexpr std::string_view paper_of_id(std::string_view id) {
  for (const Paper& paper : papers) {
    if (id.starts_with(paper.ids)) return paper.key.substr(1, paper.key.size() - 2);
  }
  return papers.front().key.substr(1, papers.front().key.size() - 2);
}

/// Numbers compare by value: "fig-2" before "fig-14", "fig-4" before "fig-4-variants".
bool natural_less(const std::string& a, const std::string& b);

/// The order in which results are listed: a paper's figures first, then its tables and theorems.
bool figure_less(const std::string& a, const std::string& b);

}  // namespace ranklab
