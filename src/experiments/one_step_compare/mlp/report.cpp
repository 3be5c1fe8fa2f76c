// The flags, the methods, the columns and the result.
#include <algorithm>
#include <functional>
#include <numeric>

#include "ensembles/activations.hpp"
#include "experiments/one_step_compare/mlp/mlp.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"
#include "io/atomic_file.hpp"

namespace ranklab::mlp {
namespace {

// Where the axis of the loss ends: losses below are as good as zero, and would flatten the rest.
constexpr double zero_loss = 1e-16;

// A quantity of every hidden layer: small multiples with one panel per layer.
struct LayerQuantity {
  std::string panel;          // its name in --panels
  std::string title;          // of a panel, without the layer
  std::string further_title;  // of the figure, if it is not the first one
  std::string y_label;
  LayerName series;
};
const LayerQuantity layer_quantities[] = {
    {"stable-rank", "Stable rank", "Stable ranks of the post-activations, by layer",
     "stable rank st(A)", stable_rank_name},
    {"nuclear-rank", "Nuclear rank", "Nuclear ranks of the gradients, by layer",
     "nuclear rank nr(G)", nuclear_rank_name},
    {"ratio", "Condition (1.8)",
     "Condition (1.8), by layer: a ratio above 1 favors the spectral step",
     "nr(G) / stable rank of the input", ratio_name},
};

// One curve per method. The trials are shown one by one, because some diverge and others stay far
// from the rest.
void add_curves(PanelBuilder& panel, const Config& config,
                const std::function<std::string(const std::string& method)>& series) {
  int color = 0;
  for (const Method& method : config.methods()) {
    panel.curve(series(method.name), method.legend, {.color = color++, .band = BandKind::trials});
  }
}

void add_loss_panel(Display& out, const Config& config) {
  PanelBuilder panel = out.panel(
      shows_each(out.records().size()) ? "Training loss: median and seeds" : "Training loss",
      {"iteration"}, with_floor(log_axis("mean squared error"), zero_loss));
  add_curves(panel, config, loss_name);
}

void add_layer_panels(Display& out, const Config& config, const LayerQuantity& quantity) {
  const bool is_ratio = quantity.panel == "ratio";
  for (std::size_t l = 1; l <= hidden_layers; ++l) {
    PanelBuilder panel =
        out.panel(say("{}, layer {}", quantity.title, l), {"iteration"},
                  is_ratio ? log_axis(quantity.y_label) : rank_axis(quantity.y_label));
    panel.group(quantity.panel);
    add_curves(panel, config,
               [&](const std::string& method) { return quantity.series(method, l); });
    if (is_ratio) panel.line(1.0, "nr = st");
    if (quantity.panel != "stable-rank") continue;
    panel.line(summarize(scalars_of(out.records(), stable_rank_X)).mean, "st of input X")
        .line(static_cast<double>(config.d), say("d = {}", config.d));
  }
}

// A figure is one row: the small multiples of one quantity, possibly with the loss. Further
// quantities have their own figures.
void add_figures(Display& out, const Config& config) {
  std::size_t columns = 0;
  bool has_quantity = false;
  for (const std::string& name : config.panels) {
    if (name == "loss") {
      add_loss_panel(out, config);
      columns += 1;
    } else {
      const LayerQuantity& quantity =
          *std::ranges::find(layer_quantities, name, &LayerQuantity::panel);
      if (has_quantity) {
        out.next_figure(quantity.further_title);
        columns = 0;
      }
      add_layer_panels(out, config, quantity);
      has_quantity = true;
      columns += hidden_layers;
    }
    out.columns(columns);
  }
}

void note_divergence(Display& out, const Method& method) {
  const Records& records = out.records();
  std::vector<std::string> trials;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].scalar(diverged_name(method.name)) == 0) continue;
    trials.push_back(say("{} (iteration {})", i, records[i].scalar(diverged_at_name(method.name))));
  }
  if (trials.empty()) return;
  out.note(
      say("{} diverged in {} of {} trials (counted from 0): {}. A trial diverges if its loss or "
          "a gradient is not finite, or its loss is above {} times the initial loss. After a "
          "divergence, the curves are means over the other trials only and look better than "
          "they are.",
          method.label, static_cast<double>(trials.size()), records.size(), joined(trials),
          divergence_factor));
}

}  // namespace

void Config::derive(Numbers& out) const {
  out.add(columns_of(*this));
  for (const Method& each : methods())
    out.diverged(each.name, scalars_of(out.records(), diverged_name(each.name)));
}

void Config::show(Display& out) const {
  add_figures(out, *this);
  for (const Method& each : methods()) note_divergence(out, each);
  const std::string& dumped = optimizer.front();
  if (!dump.empty() && out.records().front().scalar(diverged_name(dumped)) != 0)
    out.note(say("No files were written to --dump, because trial 0 of {} diverged.", dumped));
}

std::vector<Method> Config::methods() const {
  std::vector<Method> out = {
      {gd, "GD", InnerStep::euclidean, lr_gd, true, "gradient descent (GD)"}};
  for (const std::string& name : optimizer) {
    if (name == specgd)
      out.push_back(
          {name, "SpecGD", InnerStep::spectral, lr_spec, true, "spectral descent (SpecGD)"});
    if (name == muon) out.push_back({name, "Muon", InnerStep::muon, lr_spec});
  }
  if (equal_lr)
    out.push_back({"specgd_equal_lr", "SpecGD at GD's rate", InnerStep::spectral, lr_gd});
  return out;
}

std::vector<Method> Config::rivals() const {
  std::vector<Method> out = methods();
  out.erase(out.begin());
  return out;
}

std::optional<Method> Config::method(const std::string& name) const {
  for (const Method& each : methods()) {
    if (each.name == name) return each;
  }
  return std::nullopt;
}

std::vector<double> Config::iterations() const {
  std::vector<double> out;
  for (std::uint64_t t = 0; t < steps; t += record_every) out.push_back(static_cast<double>(t));
  out.push_back(static_cast<double>(steps));
  return out;
}

std::vector<Column> columns_of(const Config& config, const Method& method) {
  const std::string& name = method.name;
  std::vector<double> every(config.steps + 1);
  std::iota(every.begin(), every.end(), 0.0);
  std::vector<Column> out = {{diverged_name(name)},
                             {diverged_at_name(name)},
                             {final_loss_name(name)},
                             {loss_name(name), "iteration", every}};
  for (const LayerName& name_of : {stable_rank_name, nuclear_rank_name, ratio_name}) {
    for (std::size_t l = 1; l <= hidden_layers; ++l)
      out.push_back({name_of(name, l), "iteration", config.iterations()});
  }
  for (std::size_t l = 1; l <= hidden_layers; ++l) out.push_back({condition_share_name(name, l)});
  if (name != gd) {
    out.push_back({early_ratio_name(name)});
    out.push_back({final_ratio_name(name)});
  }
  return out;
}

std::vector<Column> columns_of(const Config& config) {
  std::vector<Column> out;
  for (const Method& method : config.methods()) {
    for (Column& column : columns_of(config, method)) out.push_back(std::move(column));
  }
  out.push_back({initial_phase_end});
  out.push_back({stable_rank_X});
  for (const char* matrix : {"A", "W"}) {
    for (std::size_t l = 1; l <= hidden_layers; ++l) out.push_back({rank_name(matrix, l)});
  }
  return out;
}

// Flags -------------------------------------------------------------------------------------------

namespace {

Field learning_rate(const char* name, double& value, const std::string& help) {
  return excluding_low(real_field(name, value, 0.0, 1000.0, "", help));
}

}  // namespace

std::vector<Field> Config::flags() {
  constexpr std::uint64_t largest = 100'000, largest_steps = 10'000'000;
  Field dump_field = text_field("dump", dump,
                                "folder for the archives activations.safetensors and "
                                "gradients.safetensors of trial 0's last step (first "
                                "--optimizer), for `ranklab ranks`");
  dump_field.names_output = true;
  const auto of_muon = [this](Field field) {
    const auto runs = [this] { return std::count(optimizer.begin(), optimizer.end(), muon) > 0; };
    return only_if(runs, "--optimizer muon", std::move(field));
  };
  return {
      precision_field(precision),
      choice_field("activation", activation, activation_names(), "sigma",
                   "activation of the three hidden layers; swiglu is gated"),
      size_field("d", d, 3, largest, "d", "input dimension"),
      size_field("width", width, 0, largest, "4d", "units of each hidden layer; 0: 4 d"),
      size_field("n", n, 1, 10'000'000, "n", "samples; each step uses all of them"),
      size_field("steps", steps, 1, largest_steps, "T", "steps of each optimizer"),
      learning_rate(
          "lr-gd", lr_gd,
          "factor on GD's steps 1/L_F; Figure 18 uses 0.01 at n = 512 and 0.0035 at n = 8196"),
      learning_rate("lr-spec", lr_spec,
                    "factor on SpecGD's steps ||G||_*/L_op (layers 1, 4: 1/L_F); Figure 18 uses "
                    "0.025 and 0.0015"),
      choice_list_field(
          "optimizer", optimizer, {specgd, muon}, "",
          "optimizers to compare with GD; their spectral steps are on layers 2 and 3"),
      of_muon(learning_rate(
          "lr-muon", lr_muon,
          "Muon's learning rate on layers 2 and 3; layers 1 and 4 step as in SpecGD")),
      of_muon(real_field("momentum", momentum, 0.0, 0.9999, "beta",
                         "momentum of Muon's gradient average; 0: no averaging")),
      switch_field("equal-lr", equal_lr,
                   "run SpecGD again at --lr-gd, so that both methods have the same learning rate"),
      size_field("record-every", record_every, 1, largest_steps, "",
                 "steps between two measurements of the ranks; losses are always recorded"),
      choice_list_field("panels", panels, Config().panels, "",
                        "panels of the figure, in this order"),
      dump_field,
  };
}

void Config::fill_defaults() {
  if (width == 0) width = 4 * d;
}

void Config::check() const {
  if (equal_lr && !method(specgd)) {
    throw UsageError(
        "--equal-lr: 'on' is not allowed without SpecGD; allowed: with specgd in --optimizer");
  }
}

std::vector<Output> Config::outputs(std::uint64_t trial) const {
  if (trial > 0 || dump.empty()) return {};
  std::vector<Output> out;
  for (const std::string& file : dump_files(dump)) out.push_back({file});
  return out;
}

Estimate Config::memory() const {
  const double inputs = real(d), h = real(width), samples = real(n),
               rows = find_activation(activation).gated ? 2 * h : h,
               weights = rows * (inputs + 2 * h) + h, count = real(methods().size()),
               recorded = real(iterations().size());
  // Per method: activations, slopes and their product; weights, gradients, a step and
  // decompositions. Shared: the samples, the initial weights and the recorded series.
  return {.bytes =
              8 * (count * ((3 * h + 3 * rows + 2 * h) * samples + 3 * weights + 6 * rows * h) +
                   2 * inputs * samples + weights + 4 * (real(steps) + 12 * recorded))};
}

Work Config::work() const {
  if (!dump.empty()) check_writable(dump_files(dump).front());
  return each_trial([config = *this](Trial& trial) { return run_trial(config, trial); });
}

}  // namespace ranklab::mlp

namespace ranklab {

std::unique_ptr<Study> make_mlp_study() {
  return std::make_unique<mlp::Config>();
}

}  // namespace ranklab
