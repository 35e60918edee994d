// plm serve: a model for many clients at once, over HTTP. Tested by tests/serve/test_server.py.
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "cli/chat_flags.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "cli/text_flags.h"
#include "cli/version.h"
#include "serve/http_server.h"
#include "serve/service.h"

namespace plm {
namespace {

constexpr int kLookMs = 50;
// Rows of a batch at most, unless --batch-rows says otherwise: prompts are read no slower than by 256 at a time, and
// texts that are being written wait a quarter as long for each piece of one.
constexpr std::string_view kBatchRows = "64";

constexpr Parameter kFlags[] = {
    {.name = "host",
     .summary = "address to listen on; one that others can reach needs --api-key",
     .type = ParameterType::text,
     .standard = "127.0.0.1",
     .unit = "ADDRESS",
     .tag = Tag::backend},
    {.name = "port",
     .summary = "0: any that is free",
     .type = ParameterType::integer,
     .standard = std::int64_t{8080},
     .min = 0,
     .max = 65535,
     .tag = Tag::backend},
    {.name = "api_key",
     .summary = "who knows it may ask; may be repeated. Other users of this machine see it: prefer a file",
     .type = ParameterType::text,
     .unit = "KEY",
     .tag = Tag::backend},
    {.name = "api_key_file",
     .summary = "file of keys, one a line",
     .type = ParameterType::text,
     .unit = "FILE",
     .tag = Tag::backend},
    {.name = "accept_open",
     .summary = "listen on an address that others can reach without a key",
     .type = ParameterType::boolean,
     .tag = Tag::backend},
    {.name = "allow_host",
     .summary = "a name by which the server may be asked, besides addresses and localhost; *: any; may be repeated",
     .type = ParameterType::text,
     .unit = "NAME",
     .tag = Tag::backend},
    {.name = "cors_origin",
     .summary = "a web page whose scripts may ask, as scheme and host; *: any; may be repeated",
     .type = ParameterType::text,
     .unit = "ORIGIN",
     .tag = Tag::backend},
    {.name = "parallel",
     .aliases = "np, n_parallel",
     .summary = "texts that are written at the same time; others wait",
     .type = ParameterType::integer,
     .standard = std::int64_t{8},
     .min = 1,
     .max = 256,
     .tag = Tag::backend},
    {.name = "queue",
     .summary = "texts that may wait; who comes then is told to come again later",
     .type = ParameterType::integer,
     .standard = std::int64_t{64},
     .min = 0,
     .max = 65536,
     .tag = Tag::backend},
    {.name = "alias",
     .aliases = "a",
     .summary = "the model's name for clients; not given: that of its file",
     .type = ParameterType::text,
     .unit = "NAME",
     .tag = Tag::pipe},
    {.name = "drain",
     .summary = "when it is told to stop, seconds to finish the texts under way",
     .type = ParameterType::integer,
     .standard = std::int64_t{30},
     .min = 0,
     .max = 3600,
     .unit = "s",
     .tag = Tag::backend},
    kChatTemplateFlag,
    kNoModelDefaultsFlag,
};
constexpr Argument kArguments[] = {kModelArgument};

Result<AccessRules> access_rules(const Invocation& call) {
  AccessRules rules{.keys = call.all("api_key"), .hosts = call.all("allow_host"), .origins = call.all("cors_origin")};
  if (call.settings.was_given("api_key_file")) {
    PLM_TRY_ASSIGN(const std::string text, read_text(call.settings.text("api_key_file")));
    for (std::string& key : keys_of(text)) rules.keys.push_back(std::move(key));
    if (rules.keys.empty()) {
      return fail(ErrorKind::usage, "--api-key-file: {} holds no key", call.settings.text("api_key_file"));
    }
  }
  for (const std::string& key : rules.keys) {
    if (key.empty()) return fail(ErrorKind::usage, "--api-key: is empty");
  }
  const std::string host = call.settings.text("host");
  if (!is_loopback(host) && rules.keys.empty() && !call.settings.boolean("accept_open")) {
    return fail(ErrorKind::usage,
                "--host {}: others can reach it; set --api-key or --api-key-file, or say --accept-open", host);
  }
  return rules;
}

// A connection takes a descriptor; the usual limit is below what the server allows.
void allow_many_connections() {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// What the model is made for is known when its header has been read: the first use that it does not refuse.
Result<std::unique_ptr<Engine>> load(Invocation& call, const std::string& path, std::size_t sequences) {
  auto engine = load_engine(call, path, sequences);
  for (const ModelUse use : {ModelUse::embedding, ModelUse::scoring}) {
    if (engine.has_value() || engine.error().kind != ErrorKind::usage) return engine;
    auto other = load_engine(call, path, sequences, use);
    if (other.has_value() || other.error().kind != ErrorKind::usage) return other;
  }
  return engine;
}

std::uint64_t bytes_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    const auto bytes = std::filesystem::file_size(path, error);
    return error ? 0 : bytes;
  }
  std::uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) sum += entry.file_size(error);
  }
  return sum;
}

ServedModel describe(Invocation& call, const Engine& engine, const std::string& path, bool has_one_tenant) {
  const std::filesystem::path file = std::filesystem::path(path).has_filename()
                                         ? std::filesystem::path(path)
                                         : std::filesystem::path(path).parent_path();
  const std::string name = file.extension() == ".gguf" ? file.stem().string() : file.filename().string();
  ServedModel model{
      .engine = engine,
      .texts = VocabularyTexts(engine.tokenizer()),
      .name = call.settings.was_given("alias") ? call.settings.text("alias") : name,
      .version = std::string(kVersion),
      .created =
          std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count(),
      .file_bytes = bytes_of(path),
      .reuses_prefixes = has_one_tenant};
  auto chat_template = load_chat_template(call, engine.vocabulary());
  if (chat_template.has_value()) {
    model.chat_template.emplace(*std::move(chat_template));
  } else {
    model.template_problem = chat_template.error().message;
    if (call.settings.was_given("chat_template")) call.terminal.warning(model.template_problem);
  }
  if (!call.settings.boolean("no_model_defaults")) {
    model.sampling_defaults = read_sampling_defaults(engine.file());
    for (const std::string& sentence : model.sampling_defaults.warnings) call.terminal.warning(sentence);
  }
  return model;
}

Result<int> run(Invocation& call) {
  const Settings& settings = call.settings;
  PLM_TRY_ASSIGN(AccessRules access, access_rules(call));
  if (!settings.was_given("batch_rows")) PLM_TRY(call.settings.set_text("batch_rows", kBatchRows));
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  const bool has_one_tenant = access.keys.size() <= 1;  // what one user left must not be felt by another
  allow_many_connections();
  Service service({.access = std::move(access),
                   .version = std::string(kVersion),
                   .log = [&call](std::string_view line) { call.terminal.line(line); }});
  const HttpOptions options{.host = settings.text("host"),
                            .port = static_cast<std::uint16_t>(settings.integer("port"))};
  PLM_TRY_ASSIGN(const auto server,
                 HttpServer::start(
                     options, [&](const std::shared_ptr<Exchange>& exchange) { service.handle(exchange); },
                     [&](int status, std::string_view reason) { return service.refuse(status, reason); }));
  const auto sequences = static_cast<std::size_t>(settings.integer("parallel"));
  PLM_TRY_ASSIGN(const auto engine, load(call, path, sequences + 1));  // one more for what is no text
  const ServedModel model = describe(call, *engine, path, has_one_tenant);
  stop_between_batches();
  {
    EngineWorker worker(*engine,
                        {.sequences = sequences, .waiting = static_cast<std::size_t>(settings.integer("queue"))});
    service.begin(model, worker);
    call.terminal.note(fmt::format("serving {} at {}://{}:{}", model.name, "http", options.host, server->port()));
    while (!was_interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(kLookMs));
    call.terminal.note("finishing the texts under way; once more to stop at once");
    service.drain();
    worker.drain();
    server->drain();
    server->wait_until_idle(static_cast<int>(settings.integer("drain")) * 1000);
    service.end();
  }
  return 0;
}

}  // namespace

extern constinit const Command command_serve = {
    .head = {.name = "serve",
             .aliases = "server",
             .summary = "serves a model to OpenAI, llama.cpp, KoboldCpp, Ollama and other clients",
             .source = "datasheet, parts VII and X",
             .parameters = kFlags},
    .arguments = kArguments,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
