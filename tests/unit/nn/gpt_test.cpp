// Compares the model with loops over its entries, and its gradients with central differences, for
// every switch.
#include "nn/gpt.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>

#include "core/tolerances.hpp"

namespace gpt_test {

using namespace ranklab;

namespace {

const Streams trial(11, 0);

SequenceShape shape_of(const std::string& activation, Norm norm, bool learned, bool qk_norm) {
  SequenceShape shape = gpt_shape(find_activation(activation), norm, learned, qk_norm);
  shape.vocabulary = 11, shape.layers = 2, shape.dim = 8, shape.heads = 2, shape.length = 5;
  shape.hidden = activation == "swiglu" ? 10 : 12;
  return shape;
}

/// With and without the mean of earlier tokens in the inputs of attention and net.
void for_each_mean_token(SequenceShape shape,
                         const std::function<void(const SequenceShape&)>& visit) {
  visit(shape);
  shape.de_escalation = DeEscalation{
      .tau = 1, .mean = MeanOver::strict, .at = DeEscalation::At::branch, .length = shape.length};
  visit(shape);
}

/// Every switch on and off, and every activation.
void for_each_shape(const std::function<void(const SequenceShape&)>& visit) {
  for (const std::string activation : {"relu2", "relu", "gelu", "swiglu"}) {
    for (const Norm norm : {Norm::rms, Norm::layer}) {
      for (const bool learned : {false, true}) {
        for (const bool qk_norm : {false, true}) {
          CAPTURE(activation);
          CAPTURE(static_cast<int>(norm));
          CAPTURE(learned);
          CAPTURE(qk_norm);
          for_each_mean_token(shape_of(activation, norm, learned, qk_norm), visit);
        }
      }
    }
  }
}

/// Sequences in which some ids occur twice, as the gradient of the table sums over them.
template <class T = double>
SequenceBatch<T> batch_of(const SequenceShape& shape) {
  SequenceBatch<T> batch;
  Stream stream = trial.stream("batch");
  for (std::uint64_t n = 0; n < 3 * shape.length; ++n) {
    batch.ids.push_back(
        static_cast<std::uint32_t>(stream.uniform() * static_cast<double>(shape.vocabulary)));
    batch.targets.push_back(
        static_cast<std::uint32_t>(stream.uniform() * static_cast<double>(shape.vocabulary)));
  }
  return batch;
}

// The definition, one token and one number at a time. ---------------------------------------------

using Vector = std::vector<double>;

Vector map(const arma::mat& W, const Vector& x) {
  Vector y(W.n_rows, 0.0);
  for (arma::uword i = 0; i < W.n_rows; ++i)
    for (arma::uword j = 0; j < W.n_cols; ++j) y[i] += W(i, j) * x[j];
  return y;
}

Vector normed(Norm norm, double epsilon, Vector u) {
  double mean = 0, squares = 0;
  if (norm == Norm::layer) {
    for (const double x : u) mean += x / static_cast<double>(u.size());
  }
  for (double& x : u) x -= mean, squares += x * x / static_cast<double>(u.size());
  for (double& x : u) x /= std::sqrt(squares + epsilon);
  return u;
}

class ByLoops {
 public:
  explicit ByLoops(const SequenceModel<double>& model) : model_(model), shape_(model.shape()) {}

  double loss(const SequenceBatch<double>& batch) {
    double total = 0;
    for (std::size_t first = 0; first < batch.ids.size(); first += shape_.length) {
      const std::vector<Vector> logits = sequence(batch, first);
      for (std::size_t t = 0; t < shape_.length; ++t) {
        double sum = 0;
        for (const double y : logits[t]) sum += std::exp(y);
        total += std::log(sum) - logits[t][batch.targets[first + t]];
      }
    }
    return total / static_cast<double>(batch.ids.size());
  }

  std::vector<Vector> sequence(const SequenceBatch<double>& batch, std::size_t first) {
    std::vector<Vector> x;
    for (std::size_t t = 0; t < shape_.length; ++t) {
      const arma::vec e = model_.embedding().W.col(batch.ids[first + t]);
      Vector token(e.begin(), e.end());
      if (shape_.has_positions()) {
        for (std::size_t i = 0; i < token.size(); ++i) token[i] += model_.positions()->W(i, t);
      } else {
        token = norm(token);
      }
      x.push_back(token);
    }
    for (std::uint64_t l = 0; l < shape_.layers; ++l) {
      add(x, attention(l, branch_inputs(x)));
      std::vector<Vector> out;
      for (const Vector& token : branch_inputs(x)) out.push_back(feed_forward(l, token));
      add(x, out);
    }
    for (Vector& token : x) token = map(model_.head()->W, norm(token));
    return x;
  }

 private:
  Vector norm(const Vector& u) const { return normed(shape_.norm, shape_.norm_epsilon, u); }

  /// norm(x) of each token, minus the mean over the earlier tokens if the shape says so.
  std::vector<Vector> branch_inputs(const std::vector<Vector>& x) const {
    std::vector<Vector> out;
    for (std::size_t t = 0; t < x.size(); ++t) {
      Vector a = norm(x[t]);
      for (std::size_t s = 0; s < t && shape_.de_escalation; ++s) {
        const Vector earlier = norm(x[s]);
        for (std::size_t i = 0; i < a.size(); ++i) a[i] -= earlier[i] / static_cast<double>(t);
      }
      out.push_back(a);
    }
    return out;
  }

  static void add(std::vector<Vector>& x, const std::vector<Vector>& y) {
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t i = 0; i < x[t].size(); ++i) x[t][i] += y[t][i];
  }

  Vector feed_forward(std::uint64_t l, const Vector& a) {
    Vector s = map(gpt_layer(model_, l).W1.W, a);
    for (double& z : s) z = shape_.activation->value(z);
    if (shape_.activation->gated) {
      const Vector gate = map(gpt_layer(model_, l).Wg->W, a);
      for (std::size_t i = 0; i < s.size(); ++i) s[i] *= gate[i];
    }
    return map(gpt_layer(model_, l).W2.W, s);
  }

  Vector query(const arma::mat& W, const Vector& a, std::size_t head, std::size_t t) const {
    const Vector all = map(W, a);
    const std::size_t width = shape_.dim / shape_.heads;
    Vector q(all.begin() + static_cast<std::ptrdiff_t>(head * width),
             all.begin() + static_cast<std::ptrdiff_t>((head + 1) * width));
    if (shape_.qk_norm) q = normed(Norm::rms, shape_.norm_epsilon, q);
    if (shape_.has_positions()) return q;
    for (std::size_t j = 0; j < width / 2; ++j) {
      const double angle =
          static_cast<double>(t) *
          std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(width));
      const double left = q[j], right = q[j + width / 2];
      q[j] = left * std::cos(angle) - right * std::sin(angle);
      q[j + width / 2] = left * std::sin(angle) + right * std::cos(angle);
    }
    return q;
  }

  std::vector<Vector> attention(std::uint64_t l, const std::vector<Vector>& a) {
    const std::size_t width = shape_.dim / shape_.heads;
    std::vector<Vector> out;
    for (std::size_t i = 0; i < a.size(); ++i) {
      Vector H(shape_.dim, 0.0);
      for (std::size_t head = 0; head < shape_.heads; ++head) {
        const Vector q = query(gpt_layer(model_, l).Wq.W, a[i], head, i);
        Vector weights;
        double sum = 0;
        for (std::size_t j = 0; j <= i; ++j) {
          const Vector k = query(gpt_layer(model_, l).Wk.W, a[j], head, j);
          double score = 0;
          for (std::size_t c = 0; c < width; ++c) score += q[c] * k[c];
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(width))));
          sum += weights.back();
        }
        for (std::size_t j = 0; j <= i; ++j) {
          const Vector v = map(gpt_layer(model_, l).Wv.W, a[j]);
          for (std::size_t c = 0; c < width; ++c)
            H[head * width + c] += weights[j] / sum * v[head * width + c];
        }
      }
      out.push_back(map(gpt_layer(model_, l).Wo.W, H));
    }
    return out;
  }

  const SequenceModel<double>& model_;
  const SequenceShape& shape_;
};

InitialWeights gauss(const SequenceShape& shape) {
  return gpt_initial_weights("gauss", shape, trial);
}

void set_gradients(SequenceModel<double>& model, const SequenceBatch<double>& batch) {
  model.forward(batch);
  model.loss(batch, true);
  model.backward(batch);
}

template <class T>
double loss_of(SequenceModel<T>& model, const SequenceBatch<T>& batch) {
  model.forward(batch);
  return model.loss(batch, false);
}

}  // namespace

TEST_CASE("the loss follows its definition for every switch") {
  for_each_shape([](const SequenceShape& shape) {
    SequenceModel<double> model(shape, gauss(shape));
    const SequenceBatch<double> batch = batch_of(shape);
    const double expected = ByLoops(model).loss(batch);
    CHECK(std::fabs(loss_of(model, batch) - expected) <= tolerance::residual<double> * expected);
    SequenceModel<float> single(shape, gauss(shape));
    CHECK(std::fabs(loss_of(single, batch_of<float>(shape)) - expected) <=
          tolerance::residual<float> * expected);
  });
}

TEST_CASE("every gradient agrees with central differences for every switch") {
  for_each_shape([](const SequenceShape& shape) {
    SequenceModel<double> model(shape, gauss(shape));
    const SequenceBatch<double> batch = batch_of(shape);
    set_gradients(model, batch);
    for (const auto& weight : gpt_weights(model)) {
      Parameter<double>& parameter = *weight.parameter;
      CAPTURE(parameter.name);
      REQUIRE(arma::size(parameter.G) == arma::size(parameter.W));
      // All entries matter along a random direction. The direction of the gradient itself would
      // miss errors orthogonal to it.
      arma::mat D(arma::size(parameter.W));
      trial.stream("direction " + parameter.name).fill_normal({D.memptr(), D.n_elem});
      const arma::mat W = parameter.W;
      const double h = 1e-5;
      const auto at = [&](double step) {
        parameter.W = W + step * D;
        return loss_of(model, batch);
      };
      // Fourth order in h.
      const double difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      parameter.W = W;
      const double exact = arma::dot(parameter.G, D);
      CHECK(std::fabs(difference - exact) <=
            1e-6 * std::max(std::fabs(exact), 1e-3 * arma::norm(parameter.G, "fro")));
    }
  });
}

TEST_CASE("a pass from a layer on equals the whole pass if earlier layers are unchanged") {
  const SequenceShape shape = shape_of("gelu", Norm::layer, true, false);
  SequenceModel<double> model(shape, gauss(shape));
  const SequenceBatch<double> batch = batch_of(shape);
  model.forward(batch);
  const auto agrees = [&] {
    const arma::mat logits = model.logits();
    model.forward(batch);
    CHECK(arma::approx_equal(logits, model.logits(), "absdiff", 0.0));
  };
  for (const std::uint64_t layer : {std::uint64_t{2}, std::uint64_t{1}, std::uint64_t{0}}) {
    Parameter<double>& changed = layer == 2 ? *model.head() : gpt_layer(model, layer).Wv;
    changed.W *= 1.5;
    model.forward_from(layer);
    agrees();
  }
  for (const std::uint64_t layer : {std::uint64_t{1}, std::uint64_t{0}}) {
    const auto weights = gpt_layer(model, layer);
    for (Parameter<double>* block : {&weights.W1, &weights.W2}) {
      block->W *= 1.5;
      model.forward_from(layer, true);
      agrees();
    }
  }
}

TEST_CASE("initial weights have the variances given in the header") {
  SequenceShape shape = shape_of("swiglu", Norm::rms, true, true);
  shape.dim = 64, shape.hidden = 96, shape.vocabulary = 300, shape.length = 40;
  const auto deviation = [&](const char* start, const std::string& name) {
    const SequenceModel<double> model(shape, gpt_initial_weights(start, shape, trial));
    for (const auto& weight : gpt_weights(model)) {
      const arma::mat& W = weight.parameter->W;
      if (weight.parameter->name == name)
        return arma::norm(W, "fro") / std::sqrt(static_cast<double>(W.n_elem));
    }
    return -1.0;
  };
  const struct {
    const char *start, *name;
    double expected;
  } cases[] = {{"modded", "embedding", 1},
               {"modded", "positions", 1},
               {"modded", "layer1.Wq", 1.0 / 16},
               {"modded", "layer0.W1", 1.0 / 16},
               {"modded", "layer0.Wo", 0},
               {"modded", "layer1.W2", 0},
               {"modded", "head", 0},
               {"gauss", "embedding", 1},
               {"gauss", "layer0.Wo", 1.0 / 8},
               {"gauss", "layer0.W2", 1 / std::sqrt(96.0)},
               {"gauss", "head", 1.0 / 8},
               {"gpt2", "embedding", 0.02},
               {"gpt2", "positions", 0.02},
               {"gpt2", "layer0.Wg", 0.02},
               {"gpt2", "layer0.W2", 0.01},
               {"gpt2", "layer1.Wo", 0.01}};
  for (const auto& [start, name, expected] : cases) {
    const auto& shown = name;  // clang 14 captures no structured binding
    CAPTURE(shown);
    // The variance of n squares is 2/n; the smallest matrix has 2560.
    CHECK(std::fabs(deviation(start, name) - expected) <=
          tolerance::standard_errors * expected / std::sqrt(2.0 * 2560));
  }
}

TEST_CASE("the counts of operations and numbers are right") {
  const SequenceShape shape = shape_of("swiglu", Norm::rms, true, true);
  const SequenceModel<double> model(shape, gauss(shape));
  double numbers = 0, maps = 0;
  for (const auto& weight : gpt_weights(model)) {
    const Parameter<double>& parameter = *weight.parameter;
    numbers += static_cast<double>(parameter.W.n_elem);
    if (parameter.name != "embedding" && parameter.name != "positions")
      maps += static_cast<double>(parameter.W.n_elem);
  }
  CHECK(gpt_parameters(shape) == numbers);
  // A product of W and a column takes two operations per entry; scores and mixtures take two more
  // per pair, entry and head.
  CHECK(sequence_flops(shape, 15, 15) == 15 * (2 * maps + 4 * 2 * 5 * 8));
}

}  // namespace gpt_test
