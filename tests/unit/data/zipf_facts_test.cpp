// The text of facts against its description.
#include "data/zipf_facts.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

namespace zipf_facts_test {

using namespace ranklab;

TEST_CASE("every subject has one object, and the fact of rank k has frequency 1 / k") {
  const Corpus corpus = draw_zipf_facts();
  CHECK(corpus.vocabulary == 4 + 32 + 32 + 64);
  CHECK(corpus.first_object == 68);
  REQUIRE(corpus.training.size() == 5 * 240'000);
  REQUIRE(corpus.validation.size() == 5 * 16'000);
  using Subject = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Subject, std::uint32_t> object_of;
  std::vector<Subject> by_rank;
  for (const auto* half : {&corpus.frequent, &corpus.rare}) {
    REQUIRE(half->size() == 5 * 512);
    for (std::size_t i = 0; i < half->size(); i += 5) {
      by_rank.push_back({(*half)[i + 1], (*half)[i + 2]});
      object_of[by_rank.back()] = (*half)[i + 4];
    }
  }
  REQUIRE(object_of.size() == 1024);
  std::map<Subject, double> counts;
  double second_sentences = 0;
  for (const auto* text : {&corpus.training, &corpus.validation}) {
    bool agrees = true;
    for (std::size_t i = 0; i < text->size(); i += 5) {
      const std::uint32_t* const s = text->data() + i;
      agrees = agrees && (s[0] == 0 || s[0] == 2) && s[3] == s[0] + 1 && s[4] < 132 &&
               object_of.at({s[1], s[2]}) == s[4];
      if (text == &corpus.training) counts[{s[1], s[2]}] += 1, second_sentences += s[0] == 2;
    }
    CHECK(agrees);
  }
  // Counts are binomial: within five standard deviations.
  double harmonic = 0;
  for (int k = 1; k <= 1024; ++k) harmonic += 1.0 / k;
  for (const std::size_t k : {1u, 2u, 10u, 100u, 500u, 1024u}) {
    const double expected = 240'000 / (static_cast<double>(k) * harmonic);
    CHECK(std::fabs(counts[by_rank[k - 1]] - expected) < 5 * std::sqrt(expected));
  }
  CHECK(std::fabs(second_sentences - 120'000) < 5 * std::sqrt(60'000));
}

}  // namespace zipf_facts_test
