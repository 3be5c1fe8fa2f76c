// The result of the study train: the views of its records, the words and the parts of its figures.
#include <map>

#include "experiments/rank_collapse/trainings/train.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab::train {

// Curves and groups -------------------------------------------------------------------------------

std::vector<const Curve*> TrainedRuns::groups() const {
  std::vector<const Curve*> out;
  for (const Curve& curve : curves) {
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const Curve* each) { return each->same_group(curve); });
    if (!known) out.push_back(&curve);
  }
  return out;
}

std::vector<const Curve*> TrainedRuns::group_of(const Curve& curve) const {
  std::vector<const Curve*> out;
  for (const Curve& each : curves) {
    if (each.same_group(curve)) out.push_back(&each);
  }
  return out;
}

const Curve* TrainedRuns::with_lambda(const Curve& curve, double lambda) const {
  for (const Curve* each : group_of(curve)) {
    if (!each->learns && each->lambda == lambda) return each;
  }
  return nullptr;
}

const Curve* TrainedRuns::learned(const Curve& curve) const {
  for (const Curve* each : group_of(curve)) {
    if (each->learns) return each;
  }
  return nullptr;
}

std::vector<Divergence> TrainedRuns::divergences(const std::vector<const Curve*>& of) const {
  std::vector<Divergence> out;
  for (const Curve* curve : of)
    out.push_back(divergence_of(records, curve->name, curve->key(diverged)));
  return out;
}

// Words -------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t longest_row = 5;

/// The word of a table for a value; the value itself if the table does not have it.
std::string word_for(const std::map<std::string, std::string>& words, const std::string& value) {
  const auto found = words.find(value);
  return found == words.end() ? value : found->second;
}

std::string mean_name(const std::string& mean) {
  return word_for({{"segment", "mean of all tokens"},
                   {"strict", "mean of earlier tokens"},
                   {"prefix", "mean of the tokens so far"}},
                  mean);
}

std::string removal_name(const Curve& curve) {
  return word_for({{"end", "end of the block"},
                   {"ffn", "before the net and its skip"},
                   {"branch", "before the net only"}},
                  curve.at) +
         (curve.learns_tau ? ", learned tau" : ", tau = " + series_number(curve.tau));
}

}  // namespace

std::string start_name(const std::string& init) {
  return word_for({{"fan", "usual initial weights"},
                   {"small", "small initial weights"},
                   {"alg1", "initial weights of Algorithm 1"},
                   {"torch", "PyTorch's initial weights"},
                   {"normal", "normal initial weights"}},
                  init);
}

std::string skip_name(const Curve& curve) {
  if (!curve.learns) return series_number(curve.lambda);
  return curve.has_own_rate ? "learned, rate x " + series_number(curve.lambda_rate) : "learned";
}

std::string skip_label(const Curve& curve) {
  return (curve.learns ? "" : "lambda = ") + skip_name(curve);
}

namespace {

/// The variant and, of its settings, those that vary.
std::vector<std::string> variant_words(const Config& c, const Curve& curve) {
  if (curve.variant == "pre") return {"pre-norm"};
  if (curve.variant == "de-escalated") {
    std::vector<std::string> words = {"de-escalated"};
    if (c.mean.size() > 1) words.push_back(mean_name(curve.mean));
    if (!curve.removal.empty()) words.push_back(removal_name(curve));
    return words;
  }
  std::vector<std::string> words = {"post-norm"};
  if (c.lr_post.size() > 1) words.push_back("rate " + series_number(curve.lr));
  if (c.warmup_post.size() > 1) {
    words.push_back(curve.warmup == 0 ? "no warm-up" : "warm-up " + plural(curve.warmup, "step"));
  }
  return words;
}

}  // namespace

std::string variant_name(const Config& c, const Curve& curve) {
  return joined(variant_words(c, curve));
}

std::vector<std::string> group_words(const Config& c, const Curve& curve) {
  std::vector<std::string> parts;
  if (c.model.size() > 1) parts.push_back(model_row(curve.model).title);
  const std::vector<std::string> variant = variant_words(c, curve);
  if (c.variant.size() > 1 || variant.size() > 1) parts.push_back(joined(variant));
  if (c.layers.size() > 1) parts.push_back(plural(curve.layers, "layer"));
  if (c.init.size() > 1) parts.push_back(start_name(curve.init));
  if (c.lambda_where.size() > 1)
    parts.push_back(curve.where == "both" ? "lambda in both skips" : "lambda in the mixer's skip");
  return parts;
}

std::string group_name(const Config& c, const Curve& curve) {
  const std::vector<std::string> words = group_words(c, curve);
  return words.empty() ? model_row(curve.model).title : joined(words);
}

std::string setting_name(const Config& c, const Curve& curve) {
  std::vector<std::string> parts;
  if (c.model.size() > 1) parts.push_back(model_row(curve.model).title);
  if (curve.learns || curve.lambda != 1 || c.lambda.size() > 1)
    parts.push_back((curve.learns ? "lambda " : "") + skip_label(curve));
  if (c.init.size() > 1) parts.push_back(start_name(curve.init));
  if (c.lambda_where.size() > 1)
    parts.push_back(curve.where == "both" ? "lambda in both skips" : "lambda in the mixer's skip");
  return joined(parts);
}

// Parts of figures --------------------------------------------------------------------------------

std::size_t columns_for(std::size_t items) {
  if (items <= longest_row) return items;
  for (std::size_t columns = longest_row; columns > 2; --columns) {
    if (items % columns == 0) return columns;
  }
  return longest_row;
}

void add_small_multiples(ResultBuilder& out, const std::string& title, const std::string& where,
                         const std::vector<std::string>& items,
                         const std::vector<DrawnQuantity>& quantities) {
  if (quantities.empty()) return;
  const bool fits = items.size() <= longest_row;
  const auto begin_figure = [&](const std::string& what) {
    out.next_figure(what + where);
    if (items.size() > 1) out.columns(columns_for(items.size()));
  };
  if (fits) begin_figure(title);
  for (const DrawnQuantity& quantity : quantities) {
    if (!fits) begin_figure(capitalized(quantity.name));
    for (std::size_t item = 0; item < items.size(); ++item) {
      const std::string of_item =
          items.size() > 1 ? items[item] + ": " + quantity.name : quantity.name;
      PanelBuilder panel = out.panel(capitalized(of_item), quantity.x, quantity.y);
      if (quantity.shares_axes && items.size() > 1) panel.group(quantity.name);
      quantity.draw(panel, item);
    }
  }
}

// The result --------------------------------------------------------------------------------------

void judge(const TrainedRuns& runs, Claims& claims) {
  judge_groups(runs, claims);  // variants too, if several lambdas are given as well
  if (runs.config.compares_variants()) {
    judge_variants(runs, claims);
  } else {
    judge_cause(runs, claims);
  }
  judge_table_1(runs, claims);
}

Result report(const TrainedRuns& runs) {
  const bool variants = runs.config.compares_variants();
  ResultBuilder out(
      variants
          ? "Training post-norm, pre-norm and de-escalated models: effect of norm placement on "
            "losses and tokens"
          : "Training models with lambda-skip connections: effect of lambda on accuracy and tokens",
      runs.records);
  out.claims().set_unit(Unit::training);
  for (const Curve& curve : runs.curves) {
    out.add(columns_of(runs.config, curve), curve.place);
    if (!curve.learns) continue;
    out.series(curve.key(learned_lambda), "block", curve.layers_from(1),
               [&curve](const TrialRecord& record, std::size_t i) {
                 return TrainedRun{curve, record}(learned_lambda_of(i + 1));
               });
  }
  judge(runs, out.claims());
  out.note(runs.task.description());
  if (variants) {
    draw_variants(out, runs);
  } else {
    draw_lambdas(out, runs);
  }
  for (const Curve& curve : runs.curves) {
    double count = 0;
    for (const TrialRecord& record : runs.records) count += TrainedRun{curve, record}(diverged);
    if (count == 0) continue;
    out.diverged(curve.name, scalars_of(runs.records, curve.key(diverged)));
    out.note(
        say("{} diverged in {} of {}.", curve.name, count, plural(runs.records.size(), "trial")));
  }
  return out.take();
}

}  // namespace ranklab::train
