#include "text/jinja/parser.h"

#include <array>
#include <memory>
#include <utility>

#include "base/utf8.h"

namespace plm::jinja {
namespace {

using Words = std::initializer_list<std::string_view>;

class TemplateParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Block whole() {
    Block block = body({}, "");
    if (current().kind != TokenKind::end) fail_unexpected("the end of the template");
    return block;
  }

 private:
  // Statements up to one of the tags `ends`, whose name is then the current token; `opened` is the tag that wants it.
  Block body(Words ends, std::string_view opened) {
    const Level level(*this);
    Block block;
    while (current().kind != TokenKind::end) {
      if (current().kind == TokenKind::data) {
        auto text = std::make_unique<TextOutput>();
        text->offset = current().offset;
        text->text = std::make_shared<const MarkedText>(next().text, Origin::template_text);
        block.push_back(std::move(text));
      } else if (current().kind == TokenKind::variable_begin) {
        block.push_back(print());
      } else {
        next();  // {%
        for (const std::string_view end : ends) {
          if (current().is_name(end)) return block;
        }
        block.push_back(statement());
      }
    }
    if (ends.size() > 0) {
      throw SyntaxFailure(open_tags_.back(), fmt::format("this '{}' block is never closed", opened));
    }
    return block;
  }

  // The body of a tag, whose end is taken: "%}" body "{% end %}".
  Block whole_body(std::string_view end, std::string_view opened) {
    expect_block_end();
    Block block = body({end}, opened);
    next();
    expect_block_end();
    return block;
  }

  void expect_block_end() {
    if (current().kind != TokenKind::block_end) fail_unexpected("'%}'");
    next();
  }

  template <typename T>
  std::unique_ptr<T> node_here() const {
    auto node = std::make_unique<T>();
    node->offset = current().offset;
    return node;
  }

  std::unique_ptr<Statement> print() {
    auto node = node_here<Print>();
    next();
    node->value = tuple();
    if (current().kind != TokenKind::variable_end) fail_unexpected("'}}'");
    next();
    return node;
  }

  std::unique_ptr<Statement> statement() {
    struct Row {
      std::string_view tag;
      std::unique_ptr<Statement> (TemplateParser::*parse)();
    };
    static constexpr std::array<Row, 13> kRows = {{{"for", &TemplateParser::loop},
                                                   {"if", &TemplateParser::condition},
                                                   {"set", &TemplateParser::set},
                                                   {"macro", &TemplateParser::macro},
                                                   {"call", &TemplateParser::call_block},
                                                   {"filter", &TemplateParser::filter_block},
                                                   {"with", &TemplateParser::with},
                                                   {"generation", &TemplateParser::generation},
                                                   {"block", &TemplateParser::named_block},
                                                   {"do", &TemplateParser::do_statement},
                                                   {"break", &TemplateParser::jump},
                                                   {"continue", &TemplateParser::jump},
                                                   {"print", &TemplateParser::print_statement}}};
    const Token& tag = current();
    if (tag.kind != TokenKind::name) fail_unexpected("the name of a tag");
    for (const Row& row : kRows) {
      if (row.tag != tag.text) continue;
      open_tags_.push_back(tag.offset);
      std::unique_ptr<Statement> parsed = (this->*row.parse)();
      open_tags_.pop_back();
      return parsed;
    }
    for (const std::string_view other : {"include", "import", "from", "extends"}) {
      if (tag.text == other) fail_here(fmt::format("'{}' needs other templates; a chat template is one text", other));
    }
    fail_here(fmt::format("unknown tag '{}'", printable(tag.text, 60)));
  }

  // Statements.

  std::unique_ptr<Statement> loop() {
    auto node = node_here<For>();
    next();
    node->target = target();
    if (mentions_loop(node->target)) fail_here("'loop' cannot be the variable of a loop");
    if (!skip_name("in")) fail_unexpected("'in'");
    node->items = tuple(false);
    if (skip_name("if")) node->condition = expression();
    node->is_recursive = skip_name("recursive");
    expect_block_end();
    ++loops_;
    node->body = body({"endfor", "else"}, "for");
    --loops_;
    if (next().text == "else") {
      node->otherwise = whole_body("endfor", "for");
    } else {
      expect_block_end();
    }
    return node;
  }

  static bool mentions_loop(const Target& target) {
    if (target.name == "loop") return true;
    for (const Target& part : target.parts) {
      if (mentions_loop(part)) return true;
    }
    return false;
  }

  std::unique_ptr<Statement> condition() {
    auto node = node_here<If>();
    next();
    while (true) {
      ExpressionPointer test = tuple(false);
      expect_block_end();
      Block block = body({"elif", "else", "endif"}, "if");
      node->branches.emplace_back(std::move(test), std::move(block));
      const std::string word = next().text;
      if (word == "elif") continue;
      if (word == "else") {
        node->otherwise = whole_body("endif", "if");
      } else {
        expect_block_end();
      }
      return node;
    }
  }

  std::unique_ptr<Statement> set() {
    auto node = node_here<Set>();
    next();
    node->target = target();
    if (skip_symbol("=")) {
      node->value = tuple();
      expect_block_end();
      return node;
    }
    auto block = std::make_unique<SetBlock>();
    block->offset = node->offset;
    block->target = std::move(node->target);
    if (skip_symbol("|")) block->filters = filter_chain();
    block->body = whole_body("endset", "set");
    return block;
  }

  // One name, an attribute of a namespace, or several with commas, perhaps in parentheses.
  Target target() {
    Target first = single_target();
    if (!current().is_symbol(",")) return first;
    Target several;
    several.offset = first.offset;
    several.is_tuple = true;
    several.parts.push_back(std::move(first));
    while (skip_symbol(",")) {
      if (current().kind != TokenKind::name && !current().is_symbol("(")) break;
      if (current().is_name("in")) break;
      several.parts.push_back(single_target());
    }
    return several;
  }

  Target single_target() {
    const Level level(*this);
    Target result;
    result.offset = current().offset;
    if (skip_symbol("(")) {
      result = target();
      expect_symbol(")");
      return result;
    }
    result.name = expect_name("a name to assign to").text;
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
      if (result.name == constant) fail_here(fmt::format("'{}' cannot be assigned to", constant));
    }
    if (skip_symbol(".")) result.attribute = expect_name("the name of an attribute").text;
    return result;
  }

  std::unique_ptr<Statement> with() {
    auto node = node_here<With>();
    next();
    while (current().kind != TokenKind::block_end) {
      if (!node->assignments.empty()) expect_symbol(",");
      Target name = single_target();
      expect_symbol("=");
      node->assignments.emplace_back(std::move(name), expression());
    }
    node->body = whole_body("endwith", "with");
    return node;
  }

  std::vector<MacroSyntax::Parameter> parameters() {
    std::vector<MacroSyntax::Parameter> result;
    expect_symbol("(");
    while (!current().is_symbol(")")) {
      MacroSyntax::Parameter parameter;
      parameter.name = expect_name("the name of a parameter").text;
      if (skip_symbol("=")) {
        parameter.fallback = expression();
      } else if (!result.empty() && result.back().fallback != nullptr) {
        fail_here("a parameter without a default must not follow one with a default");
      }
      result.push_back(std::move(parameter));
      if (!skip_symbol(",")) break;
    }
    expect_symbol(")");
    return result;
  }

  // Body and what it mentions; loops around it are none of its own.
  void macro_body(MacroSyntax& macro, std::string_view end, std::string_view opened) {
    const std::size_t loops_around = std::exchange(loops_, 0);
    mentions_.emplace_back();
    macro.body = whole_body(end, opened);
    const Mentions mentioned = mentions_.back();
    mentions_.pop_back();
    loops_ = loops_around;
    macro.takes_varargs = mentioned.varargs;
    macro.takes_kwargs = mentioned.kwargs;
    macro.takes_caller = mentioned.caller;
  }

  std::unique_ptr<Statement> macro() {
    auto node = node_here<MacroDefinition>();
    next();
    node->macro.offset = node->offset;
    node->macro.name = expect_name("the name of the macro").text;
    node->macro.parameters = parameters();
    macro_body(node->macro, "endmacro", "macro");
    return node;
  }

  std::unique_ptr<Statement> call_block() {
    auto node = node_here<CallBlock>();
    next();
    node->caller.offset = node->offset;
    node->caller.name = "caller";
    if (current().is_symbol("(")) node->caller.parameters = parameters();
    node->call = expression();
    const auto* postfix = dynamic_cast<const Postfix*>(node->call.get());
    if (postfix == nullptr || postfix->suffixes.back().kind != Suffix::Kind::call) fail_unexpected("a call of a macro");
    macro_body(node->caller, "endcall", "call");
    return node;
  }

  std::unique_ptr<Statement> filter_block() {
    auto node = node_here<FilterBlock>();
    next();
    node->filters = filter_chain();
    node->body = whole_body("endfilter", "filter");
    return node;
  }

  std::unique_ptr<Statement> generation() {
    auto node = node_here<Scoped>();
    next();
    node->body = whole_body("endgeneration", "generation");
    return node;
  }

  std::unique_ptr<Statement> named_block() {
    auto node = node_here<Scoped>();
    next();
    const std::string name = expect_name("the name of the block").text;
    while (skip_name("scoped") || skip_name("required")) {
    }
    expect_block_end();
    node->body = body({"endblock"}, "block");
    next();
    skip_name(name);
    expect_block_end();
    return node;
  }

  std::unique_ptr<Statement> do_statement() {
    auto node = node_here<Do>();
    next();
    node->value = tuple();
    expect_block_end();
    return node;
  }

  std::unique_ptr<Statement> print_statement() {
    auto node = node_here<Print>();
    next();
    node->value = tuple();
    expect_block_end();
    return node;
  }

  std::unique_ptr<Statement> jump() {
    auto node = node_here<Jump>();
    if (loops_ == 0) fail_here(fmt::format("'{}' outside of a loop", current().text));
    node->flow = next().text == "break" ? Flow::leave_loop : Flow::next_turn;
    expect_block_end();
    return node;
  }

  std::size_t loops_ = 0;  // around the current place, within the macro
  std::vector<std::uint32_t> open_tags_;
};

}  // namespace

Block parse_template(std::string_view source, std::size_t most_nesting) {
  return TemplateParser(tokenize(source), most_nesting).whole();
}

}  // namespace plm::jinja
