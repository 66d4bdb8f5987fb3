-- What stock Lua 5.1 lacks of the environment that scripts have: read-only tables. Scripts hold proxies: empty tables
-- whose metatable reads from the real table and refuses writes. The functions below are those that would see the
-- difference. Ordinary tables take one failed look-up in `real` before the stock function does the work; arguments are
-- checked here, because what a stock function raises when it is called from here would name a line of this file.
--
-- Takes the globals and the functions that are written in Rust (sandbox.rs). Replaces stock functions; returns `seal`.
local globals, argument_error, plain_error, readonly, refuse, missing, thrown, is_ended = ...

local getmetatable, setmetatable, rawget, rawset = getmetatable, setmetatable, rawget, rawset
local next, pcall, xpcall, select, type, tonumber = next, pcall, xpcall, select, type, tonumber
local load, loadstring = load, loadstring
local insert, foreach, getn, byte = table.insert, table.foreach, table.getn, string.byte
local floor, ceil = math.floor, math.ceil
local resume, create, error = coroutine.resume, coroutine.create, error

-- real: proxy -> the table behind it. proxies: the other way round. metatables: proxy -> proxy of the real metatable.
local real, proxies, metatables = {}, {}, {}

local function kind(value, present)
  return present and type(value) or 'no value'
end

function globals.next(t, key)
  local behind = real[t]
  if behind then return next(behind, key) end
  if type(t) ~= 'table' then argument_error(1, 'table expected, got ' .. type(t)) end
  return next(t, key)
end
local sandboxed_next = globals.next

function globals.pairs(...)
  local t = ...
  if real[t] then return sandboxed_next, t, nil end
  if type(t) ~= 'table' then argument_error(1, 'table expected, got ' .. kind(t, select('#', ...) > 0)) end
  return next, t, nil
end

function globals.rawget(...)
  local t, key = ...
  local count = select('#', ...)
  if type(t) ~= 'table' then argument_error(1, 'table expected, got ' .. kind(t, count > 0)) end
  if count < 2 then argument_error(2, 'value expected') end
  return rawget(real[t] or t, key)
end

function globals.rawset(...)
  local t, key, value = ...
  local count = select('#', ...)
  if type(t) ~= 'table' then argument_error(1, 'table expected, got ' .. kind(t, count > 0)) end
  if count < 3 then argument_error(count < 2 and 2 or 3, 'value expected') end
  if real[t] then readonly() end
  return rawset(t, key, value)
end

function globals.getmetatable(...)
  local t = ...
  if real[t] then return metatables[t] end
  if t == nil and select('#', ...) == 0 then argument_error(1, 'value expected') end
  return getmetatable(t)
end

function globals.setmetatable(...)
  local t, metatable = ...
  if type(t) ~= 'table' then argument_error(1, 'table expected, got ' .. kind(t, select('#', ...) > 0)) end
  if type(metatable) ~= 'table' and (metatable ~= nil or select('#', ...) < 2) then
    argument_error(2, 'nil or table expected')
  end
  if real[t] then readonly() end
  if getmetatable(t) == nil then return setmetatable(t, metatable) end
  if not pcall(setmetatable, t, metatable) then plain_error(2, 'cannot change a protected metatable') end
  return t
end

-- A number as C functions take it for an `int`: cut off at the point, its low 32 bits.
local function as_int(n)
  if n ~= n or n >= 2^63 or n < -2^63 then return 0 end
  n = (n < 0 and ceil(n) or floor(n)) % 2^32
  return n < 2^31 and n or n - 2^32
end

function globals.table.insert(t, ...)
  local count = select('#', ...)
  if type(t) ~= 'table' then argument_error(1, 'table expected, got ' .. kind(t, t ~= nil or count > 0)) end
  if count == 1 then
    if real[t] then readonly() end
    return insert(t, (...))
  end
  if count ~= 2 then plain_error(2, "wrong number of arguments to 'insert'") end
  local position, value = ...
  if not tonumber(position) then argument_error(2, 'number expected, got ' .. type(position)) end
  if real[t] then readonly() end
  position = as_int(tonumber(position))
  if position >= 0 then return insert(t, position, value) end
  -- The stock function moves all elements from a negative position on, and nothing can interrupt it.
  for at = getn(t) + 1, position + 1, -1 do rawset(t, at, rawget(t, at - 1)) end
  rawset(t, position, value)
end

function globals.table.foreach(...)
  local t, f = ...
  local count = select('#', ...)
  if type(t) ~= 'table' then argument_error(1, 'table expected, got ' .. kind(t, count > 0)) end
  if type(f) ~= 'function' then argument_error(2, 'function expected, got ' .. kind(f, count > 1)) end
  return foreach(real[t] or t, f)
end

-- What Rust functions raise is an object that means nothing to scripts: those who catch it get what it stands for.
local function settle(ok, ...)
  if ok then return ok, ... end
  local value = ...
  if type(value) == 'userdata' then value = thrown(value) end
  return false, value
end

-- Of a table with a message that is raised, `pcall` of redis-server returns the message.
local function settle_message(ok, ...)
  if ok then return ok, ... end
  local value = ...
  if type(value) == 'userdata' then value = thrown(value) end
  if type(value) ~= 'table' then return false, value end
  local message = value.err
  if type(message) == 'string' or type(message) == 'number' then return false, message end
  return false, value, message
end

function globals.pcall(...)
  if select('#', ...) == 0 then return false, 'attempt to call a boolean value' end
  return settle_message(pcall(...))
end

function globals.xpcall(...)
  local f, handler = ...
  if select('#', ...) < 2 then argument_error(2, 'value expected') end
  if handler == globals.__redis__err__handler then return xpcall(f, handler) end
  return xpcall(f, function(value)
    if type(value) == 'userdata' then
      if is_ended(value) then return value end
      value = thrown(value)
    end
    return handler(value)
  end)
end

function globals.coroutine.resume(...)
  local co = ...
  if type(co) ~= 'thread' then argument_error(1, 'coroutine expected') end
  return settle(resume(...))
end

-- A stock wrapped coroutine puts the position of its caller before a string that it raises.
local function unwrap(ok, ...)
  if ok then return ... end
  local value = ...
  if type(value) == 'userdata' then value = thrown(value) end
  if type(value) == 'string' then plain_error(3, value) end
  error(value, 0)
end

function globals.coroutine.wrap(f)
  local ok, co = pcall(create, f)
  if not ok then argument_error(1, 'Lua function expected') end
  return function(...)
    return unwrap(resume(co, ...))
  end
end

-- Text only. Bytecode begins with an escape; a blank before it makes the compiler read it as the text that it is not.
function globals.loadstring(...)
  local source, name = ...
  if type(source) ~= 'string' and type(source) ~= 'number' then
    argument_error(1, 'string expected, got ' .. kind(source, select('#', ...) > 0))
  end
  if name ~= nil and type(name) ~= 'string' and type(name) ~= 'number' then
    argument_error(2, 'string expected, got ' .. type(name))
  end
  if byte(source) == 27 then return loadstring(' ' .. source, name or source) end
  return loadstring(source, name or source)
end

function globals.load(...)
  local read, name = ...
  if type(read) ~= 'function' then
    argument_error(1, 'function expected, got ' .. kind(read, select('#', ...) > 0))
  end
  if name ~= nil and type(name) ~= 'string' and type(name) ~= 'number' then
    argument_error(2, 'string expected, got ' .. type(name))
  end
  local first, unreadable = true, false
  local f, message = load(function()
    local piece = read()
    unreadable = piece ~= nil and type(piece) ~= 'string' and type(piece) ~= 'number'
    if first and piece ~= nil and not unreadable and byte(piece) == 27 then piece = ' ' .. piece end
    first = false
    return piece
  end, name or '=(load)')
  if unreadable then message = select(2, pcall(plain_error, 3, 'reader function must return a string')) end
  if type(message) == 'userdata' then message = thrown(message) end
  if f then return f end
  return f, message
end

-- With the insecure functions: environments, of which the globals themselves are shown as their proxy.
local getfenv, setfenv = globals.getfenv, globals.setfenv

local function level_of(f)
  if type(f) == 'function' then return f end
  local level = f == nil and 1 or tonumber(f)
  if not level then return nil, 'number expected, got ' .. type(f) end
  level = as_int(level)
  if level < 0 then return nil, 'level must be non-negative' end
  return level
end

-- A level counts from the function that called the function that asks here.
local function environment(f)
  if type(f) == 'number' and f > 0 then f = f + 3 end
  local ok, env = pcall(getfenv, f)
  if not ok then return nil, 'invalid level' end
  return env
end

if getfenv then
  function globals.getfenv(f)
    local env, message
    f, message = level_of(f)
    if f then env, message = environment(f) end
    if message then argument_error(1, message) end
    return proxies[env] or env
  end

  function globals.setfenv(...)
    local f, env = ...
    local own, message
    if type(env) ~= 'table' then argument_error(2, 'table expected, got ' .. kind(env, select('#', ...) > 1)) end
    f, message = level_of(f)
    if f then own, message = environment(f) end
    if message then argument_error(1, message) end
    -- What is not the script's own has the globals themselves for its environment, and keeps them.
    if f == 0 or own == globals then plain_error(2, "'setfenv' cannot change environment of given object") end
    local ok, result = pcall(setfenv, type(f) == 'number' and f + 2 or f, env)
    if not ok then plain_error(2, "'setfenv' cannot change environment of given object") end
    if type(f) == 'function' then return result end
  end
end

-- Puts proxies in place of a table and of all tables in it, and returns the proxy.
local function protect(t)
  if proxies[t] then return proxies[t] end
  local proxy = {}
  real[proxy], proxies[t] = t, proxy
  for key, value in next, t do
    if type(value) == 'table' and not real[value] then t[key] = protect(value) end
  end
  local metatable = getmetatable(t)
  if metatable then metatables[proxy] = protect(metatable) end
  return setmetatable(proxy, { __index = t, __newindex = refuse })
end

return function()
  setmetatable(globals, { __index = missing })
  local proxy = protect(globals)
  getmetatable('').__metatable = protect({ __index = globals.string })
  return proxy
end
