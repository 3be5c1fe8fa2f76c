// Cuts matrices into blocks, one table row each: --split, --heads.
#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/error.hpp"
#include "core/text.hpp"
#include "ranks/ranks.hpp"

namespace ranklab::ranks {
namespace {

// Parses all of `text` as a number from 1 to most_parts; returns 0 for anything else.
std::uint64_t part_count(std::string_view text) {
  std::uint64_t count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && stop == text.data() + text.size() && count <= most_parts ? count
                                                                                          : 0;
}

// Parses "NAME=3", "NAME=32+8+8" or "NAME=3@16"; leaves `shares` empty for any other text.
Split parse_split(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  Split split{text, text.substr(0, std::min(equals, text.size())), {}, 1};
  if (equals == std::string::npos || equals == 0) return split;
  const std::size_t at = text.find('@', equals);
  if (at != std::string::npos) split.groups = part_count(std::string_view(text).substr(at + 1));
  std::string_view shares =
      std::string_view(text).substr(equals + 1, std::min(at, text.size()) - equals - 1);
  for (bool more = split.groups > 0; more;) {
    const std::size_t plus = std::min(shares.find('+'), shares.size());
    split.shares.push_back(part_count(shares.substr(0, plus)));
    more = plus < shares.size();
    if (more) shares.remove_prefix(plus + 1);
  }
  if (std::find(split.shares.begin(), split.shares.end(), 0) != split.shares.end())
    split.shares.clear();
  if (split.shares.size() == 1) split.shares.assign(split.shares.front(), 1);
  return split;
}

std::uint64_t sum(const std::vector<std::uint64_t>& shares) {
  return std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
}

[[noreturn]] void refuse(const std::string& flags, std::uint64_t blocks, std::uint64_t size,
                         const std::string& side, const std::string& name) {
  if (flags.empty()) {
    throw Failure("the recording of '" + name + "' claims " + std::to_string(blocks) +
                  " equal parts, but its gradient has " + std::to_string(size) + " rows");
  }
  throw UsageError(flags + ": " + std::to_string(blocks) + " equal blocks cannot be cut from the " +
                   std::to_string(size) + " " + side + " of '" + name + "'");
}

// Head `head` (from 0) of `heads` heads that cut the rows of `part`.
Layer head_of(const Layer& part, std::uint64_t head, std::uint64_t heads) {
  const std::uint64_t m = part.m / heads, groups = part.m / part.chunk;
  Layer out{part.name + "." + std::to_string(head + 1), 0, m, std::min(m, part.chunk), part.stride};
  const std::uint64_t first = head * m;  // counted within the part
  out.first_row = part.first_row + first / part.chunk * part.stride + first % part.chunk;
  // A head must be whole groups or a piece of one group; m = 0 marks anything else.
  if (groups > 1 && m % part.chunk != 0 && part.chunk % m != 0) out.m = 0;
  return out;
}

}  // namespace

std::vector<Split> splits_of(const RanksConfig& config) {
  std::vector<Split> out;
  for (const std::string& text : comma_separated(config.split)) {
    Split split = parse_split(text);
    if (split.shares.empty()) {
      throw UsageError(
          "--split: '" + printable_key(text) + "' is not allowed; allowed: NAME=PARTS with 1 to " +
          std::to_string(most_parts) +
          " equal parts, or NAME=32+8+8 for parts in proportion, or NAME=3@16 for parts "
          "interleaved in 16 groups");
    }
    for (const Split& other : out) {
      if (other.glob == split.glob)
        throw UsageError("--split: '" + printable_key(split.glob) + "' is given twice");
    }
    out.push_back(std::move(split));
  }
  return out;
}

std::vector<Cut> cuts_of(const RanksConfig& config, const std::vector<ListedPair>& pairs) {
  std::vector<Cut> cuts;
  for (const ListedPair& pair : pairs) {
    cuts.push_back({});
    cuts.back().rows.shares.assign(pair.blocks, 1);
  }
  for (const Split& split : splits_of(config)) {
    bool found = false;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (!matches_glob(split.glob, pairs[i].name)) continue;
      found = true;
      if (pairs[i].blocks > 0)
        throw UsageError("--split: '" + pairs[i].name + "' was already cut when it was recorded");
      cuts[i].rows = split;
    }
    if (found) continue;
    std::vector<std::string> names;
    for (const ListedPair& pair : pairs) names.push_back(pair.name);
    const std::string ending = "*" + split.glob;
    const bool some_end_so = std::ranges::any_of(
        names, [&](const std::string& name) { return matches_glob(ending, name); });
    throw UsageError("--split: there is no matrix '" + printable_key(split.glob) + "'" +
                     (some_end_so ? "; '" + printable_key(ending) + "' matches names that end so"
                                  : did_you_mean(split.glob, names, "; such as " + names.front())));
  }
  // If some layers are split, --heads cuts only those.
  for (Cut& cut : cuts) {
    if (config.heads > 1 && (config.split.empty() || !cut.rows.shares.empty()))
      cut.heads = config.heads;
  }
  return cuts;
}

std::vector<Layer> cut_rows(const std::string& name, std::uint64_t rows, const Cut& cut) {
  const auto& [text, glob, shares, groups] = cut.rows;
  const std::uint64_t heads = std::max<std::uint64_t>(cut.heads, 1),
                      all = shares.empty() ? 1 : sum(shares) * groups,
                      blocks = all * (groups > 1 ? 1 : heads);
  const std::string flags = (text.empty() ? "" : "--split " + text) +
                            (!text.empty() && cut.heads > 0 ? " and " : "") +
                            (cut.heads > 0 ? "--heads " + std::to_string(cut.heads) : "");
  if (rows % blocks != 0) refuse(flags, blocks, rows, "rows", name);
  std::vector<Layer> parts;
  std::uint64_t first = 0;
  for (const std::uint64_t share : shares) {
    const std::uint64_t chunk = rows / all * share;
    parts.push_back({name + "." + std::to_string(parts.size() + 1), first, chunk * groups, chunk,
                     rows / groups});
    first += chunk;
  }
  if (shares.empty()) parts.push_back({name, 0, rows});
  if (cut.heads == 0) return parts;
  std::vector<Layer> out;
  for (const Layer& part : parts) {
    for (std::uint64_t head = 0; head < heads; ++head) {
      out.push_back(head_of(part, head, heads));
      if (part.m % heads != 0 || out.back().m == 0)
        refuse(flags, heads * groups, part.m, "interleaved rows", name);
    }
  }
  return out;
}

}  // namespace ranklab::ranks
