-- What scripts see of the server, and how they are started: the part that is easier said in Lua than in Rust.
local host, version, version_number, valkey_version, valkey_version_number = ...
local error, type, tostring, select, pairs = error, type, tostring, select, pairs
local setmetatable = setmetatable
local host_position, host_arguments, invoke = host.position, host.arguments, host.invoke
-- The table that scripts see through a proxy.
local globals = _G

local function fail(text)
  error({ err = 'ERR ' .. text }, 0)
end

-- The text of an error as an error table: a code is put in front where there is none.
local function error_table(text)
  if text:sub(1, 1) == '-' then text = text:sub(2) end
  if not text:find(' ', 1, true) then text = 'ERR ' .. text end
  return { err = text }
end

local redis = {
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  REPL_NONE = 0, REPL_AOF = 1, REPL_SLAVE = 2, REPL_REPLICA = 2, REPL_ALL = 3,
  REDIS_VERSION = version, REDIS_VERSION_NUM = version_number,
  SERVER_NAME = 'valkey', VALKEY_VERSION = valkey_version, VALKEY_VERSION_NUM = valkey_version_number,
  -- A script may call these as its last act: in Lua they would take its place on the stack, and errors its place in
  -- the text.
  call = host.call, pcall = host.pcall, sha1hex = host.sha1hex, log = host.log, setresp = host.setresp,
  set_repl = host.set_repl, acl_check_cmd = host.acl_check_cmd,
  breakpoint = host.breakpoint, debug = host.debug,
}

function redis.error_reply(...)
  if select('#', ...) ~= 1 or type((...)) ~= 'string' then
    return error_table('ERR wrong number or type of arguments')
  end
  return error_table((...))
end

function redis.status_reply(...)
  if select('#', ...) ~= 1 or type((...)) ~= 'string' then
    return error_table('ERR wrong number or type of arguments')
  end
  return { ok = (...) }
end

function redis.replicate_commands() return true end

-- What nobody catches becomes a table that says where it came from.
local function locate(failure)
  if type(failure) == 'userdata' then failure = host.thrown(failure) end
  local source, line = host_position()
  if type(failure) ~= 'table' then failure = { err = 'ERR ' .. tostring(failure) } end
  if source then
    failure.source = source
    failure.line = line
  end
  return failure
end

local function run(script)
  globals.KEYS, globals.ARGV = host_arguments()
  return invoke(locate, script)
end

-- What a debugger runs: whether it worked, and what it returned or the error as it is.
local function evaluate(code)
  return invoke(function(failure) return failure end, code)
end

local function call(callback)
  return invoke(locate, callback, host_arguments())
end

local function missing(_, name)
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end

local function readonly()
  error('Attempt to modify a readonly table', 2)
end

-- What functions see: the globals of scripts, without what only scripts have.
local function_redis, function_globals = {}, {}
for name, value in pairs(redis) do function_redis[name] = value end
function_redis.replicate_commands, function_redis.breakpoint, function_redis.debug = nil, nil, nil
for name, value in pairs(globals) do function_globals[name] = value end
function_globals.__redis__err__handler, function_globals.__server__err__handler = nil, nil
function_globals.redis, function_globals.server, function_globals._G = function_redis, function_redis, function_globals
setmetatable(function_globals, { __index = missing })

-- Loading a library: what it may call then, and the functions that it registers.
local registered

local function is_text(value)
  return type(value) == 'string' or type(value) == 'number'
end

local function register_named(given)
  local entry = { flags = {} }
  for key, value in pairs(given) do
    if not is_text(key) then
      fail('named argument key given to server.register_function is not a string')
    elseif key == 'function_name' then
      if not is_text(value) then
        fail('function_name argument given to server.register_function must be a string')
      end
      entry.name = tostring(value)
    elseif key == 'description' then
      if not is_text(value) then
        fail('description argument given to server.register_function must be a string')
      end
      entry.description = tostring(value)
    elseif key == 'callback' then
      if type(value) ~= 'function' then
        fail('callback argument given to server.register_function must be a function')
      end
      entry.callback = value
    elseif key == 'flags' then
      if type(value) ~= 'table' then
        fail('flags argument to server.register_function must be a table representing function flags')
      end
      for at = 1, #value do
        if type(value[at]) ~= 'string' or not host.is_flag(value[at]) then fail('unknown flag given') end
        entry.flags[at] = value[at]
      end
    else
      fail('unknown argument given to server.register_function')
    end
  end
  if not entry.name then fail('server.register_function must get a function name argument') end
  if not entry.callback then fail('server.register_function must get a callback argument') end
  return entry
end

local function register_function(...)
  if not registered then
    fail('server.register_function can only be called on FUNCTION LOAD command')
  end
  local count, name, callback = select('#', ...), ...
  local entry
  if count < 1 or count > 2 then
    fail('wrong number of arguments to server.register_function')
  elseif count == 1 then
    if type(name) ~= 'table' then
      fail('calling server.register_function with a single argument is only applicable to Lua table (representing named arguments).')
    end
    entry = register_named(name)
  else
    if not is_text(name) then
      fail('first argument to server.register_function must be a string')
    end
    if type(callback) ~= 'function' then
      fail('second argument to server.register_function must be a function')
    end
    entry = { name = tostring(name), callback = callback, flags = {} }
  end
  registered[#registered + 1] = entry
end

local function sealed(content)
  return setmetatable({}, { __index = setmetatable(content, { __index = missing }), __newindex = readonly, __metatable = false })
end

local load_redis = { register_function = register_function }
for _, name in pairs({
  'log', 'LOG_DEBUG', 'LOG_VERBOSE', 'LOG_NOTICE', 'LOG_WARNING', 'REDIS_VERSION', 'REDIS_VERSION_NUM',
  'SERVER_NAME', 'VALKEY_VERSION', 'VALKEY_VERSION_NUM',
}) do
  load_redis[name] = redis[name]
end
load_redis = sealed(load_redis)
local load_globals = setmetatable({ redis = load_redis, server = load_redis }, { __index = missing })

-- The environment of a library: little while it is loaded, everything when its functions run.
local function environment()
  local meta = { __index = load_globals, __newindex = readonly, __metatable = false }
  return setmetatable({}, meta), meta
end

-- Runs the code of a library; returns whether it worked, and what it registered or the error.
local function load(chunk, meta, globals)
  registered = {}
  local ok, failure = invoke(locate, chunk)
  local entries = registered
  registered = nil
  meta.__index = globals
  if ok then return true, entries end
  return false, failure
end

return redis, function_globals, run, call, evaluate, environment, load
