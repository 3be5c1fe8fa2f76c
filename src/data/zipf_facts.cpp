#include "data/zipf_facts.hpp"

#include <algorithm>
#include <numeric>

#include "core/bytes.hpp"
#include "core/text.hpp"
#include "data/without_replacement.hpp"

namespace ranklab {
namespace {

constexpr std::uint32_t names = 32, objects = 64, facts = names * names;
// Tokens: four words, first names, last names, objects.
constexpr std::uint32_t first_names = 4, last_names = first_names + names,
                        first_object = last_names + names;

struct Facts {
  std::vector<std::uint32_t> subjects, objects;  // by rank

  void state(std::uint32_t rank, bool second, std::vector<std::uint32_t>& text) const {
    const std::uint32_t word = second ? 2 : 0, subject = subjects[rank];
    text.insert(text.end(), {word, first_names + subject / names, last_names + subject % names,
                             word + 1, first_object + objects[rank]});
  }
};

}  // namespace

Corpus draw_zipf_facts() {
  const Streams streams(0, 0);
  std::vector<double> uniforms(facts);
  streams.stream("zipf-facts subjects").fill_uniform(uniforms);
  Facts known{std::vector<std::uint32_t>(facts), {}};
  std::iota(known.subjects.begin(), known.subjects.end(), 0u);
  draw_without_replacement(known.subjects, std::span<const double>(uniforms));
  streams.stream("zipf-facts objects").fill_uniform(uniforms, 0, objects);
  for (const double u : uniforms) known.objects.push_back(static_cast<std::uint32_t>(u));

  std::vector<double> cumulative;  // of 1 / rank
  for (std::uint32_t k = 1; k <= facts; ++k)
    cumulative.push_back((k == 1 ? 0 : cumulative.back()) + 1.0 / k);
  Stream draws = streams.stream("zipf-facts statements");
  const auto text_of = [&](std::size_t statements) {
    std::vector<std::uint32_t> text;
    for (std::size_t i = 0; i < statements; ++i) {
      const double at = draws.uniform() * cumulative.back();
      const auto rank = std::lower_bound(cumulative.begin(), cumulative.end() - 1, at);
      known.state(static_cast<std::uint32_t>(rank - cumulative.begin()), draws.uniform() < 0.5,
                  text);
    }
    return text;
  };
  Corpus corpus;
  corpus.training = text_of(240'000);
  corpus.validation = text_of(16'000);
  corpus.vocabulary = first_object + objects;
  corpus.first_object = first_object;
  for (std::uint32_t rank = 0; rank < facts; ++rank)
    known.state(rank, rank % 2 == 1, rank < facts / 2 ? corpus.frequent : corpus.rare);
  corpus.bytes = sizeof(std::uint32_t) * (corpus.training.size() + corpus.validation.size());
  std::string bytes;
  for (const std::vector<std::uint32_t>* part : {&corpus.training, &corpus.validation})
    bytes.append(reinterpret_cast<const char*>(part->data()), 4 * part->size());
  corpus.checksum = hexadecimal(fnv1a(bytes));
  corpus.text = zipf_facts;
  return corpus;
}

}  // namespace ranklab
