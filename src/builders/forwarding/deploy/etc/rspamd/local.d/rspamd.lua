-- `builders postfix config` writes this file.
local lua_mime = require 'lua_mime'
local util = require 'rspamd_util'

local LOCAL_PART = '^r%-' .. ('[a-z2-7]'):rep(26) .. '%f[+%z]' -- of a reverse address, also with a tag
local RESULTS = {
  { 'spf', { pass = 'R_SPF_ALLOW', fail = 'R_SPF_FAIL', softfail = 'R_SPF_SOFTFAIL', neutral = 'R_SPF_NEUTRAL',
             temperror = 'R_SPF_DNSFAIL', permerror = 'R_SPF_PERMFAIL' } },
  { 'dkim', { pass = 'R_DKIM_ALLOW', fail = 'R_DKIM_REJECT', temperror = 'R_DKIM_TEMPFAIL',
              permerror = 'R_DKIM_PERMFAIL' } },
  { 'dmarc', { pass = 'DMARC_POLICY_ALLOW', fail = 'DMARC_POLICY_SOFTFAIL' } },
}

local function is_from_here(task)
  local address = task:get_from_ip()
  return not address or not address:is_valid() or address:is_local()
end

local function result_of(task, symbols)
  for result, symbol in pairs(symbols) do
    if task:has_symbol(symbol) then
      return result
    end
  end
  return 'none'
end

-- The domains that a valid signature shows.
local function signers(task)
  local found = {}
  local trace = task:get_symbol('DKIM_TRACE')
  for _, option in ipairs(trace and trace[1].options or {}) do
    local domain = option:match('^([%w%.%-_]+):%+$')
    if domain then
      table.insert(found, domain:lower())
    end
  end
  return found
end

local function sender_domain(task)
  local from = task:get_from('smtp')
  local domain = from and from[1] and from[1].domain or ''
  return domain ~= '' and domain:lower() or nil
end

local function author_domain(task)
  local from = task:get_from('mime')
  return from and from[1] and from[1].domain and from[1].domain:lower() or ''
end

local function is_reply(recipients)
  for _, each in ipairs(recipients) do
    if each.user:lower():match(LOCAL_PART) then
      return true
    end
  end
  return false
end

-- Whether one of the domains is that of the author, or above it.
local function is_proved(author, domains)
  for _, domain in ipairs(domains) do
    if ('.' .. author):sub(-#domain - 1) == '.' .. domain then
      return true
    end
  end
  return false
end

-- What was found goes to the mail filter of the service, which trusts these headers: those of a sender are removed. Mail
-- that passed its author's policy by SPF alone is marked: SPF of this host is not that of the author, so that the
-- destination would refuse it, and the mail filter rewrites the author.
rspamd_config:register_symbol({
  name = 'BUILDERS_RESULTS',
  type = 'postfilter',
  priority = 5,
  flags = 'nostat',
  callback = function(task)
    local added = {}
    local removed = { ['X-Builders-Results'] = 0, ['X-Builders-Via'] = 0 }
    local recipients = task:get_recipients('smtp') or {}
    if not is_from_here(task) then
      local domains, written, author = signers(task), {}, author_domain(task)
      local is_signed = false
      for _, domain in ipairs(domains) do
        is_signed = is_signed or util.get_tld(domain) == util.get_tld(author)
      end
      local sender = sender_domain(task)
      if sender and task:has_symbol('R_SPF_ALLOW') then
        table.insert(domains, sender)
      end
      for _, each in ipairs(RESULTS) do
        table.insert(written, each[1] .. '=' .. result_of(task, each[2]))
      end
      table.insert(written, 'author=' .. (author:match('^[%w%.%-_]+$') or ''))
      table.insert(written, 'aligned=' .. (is_signed and 'pass' or 'none'))
      table.insert(written, 'domains=' .. table.concat(domains, ','))
      added['X-Builders-Results'] = table.concat(written, ' ')
      local allowed = task:get_symbol('DMARC_POLICY_ALLOW')
      local policy = allowed and allowed[1].options and allowed[1].options[2] or 'none'
      if policy ~= 'none' and not is_signed and recipients[1] then
        added['X-Builders-Via'] = recipients[1].domain
      end
      if is_reply(recipients) and not is_proved(author, domains) then
        task:set_pre_result('reject', 'Replies need SPF or DKIM of the domain of their author.')
      end
    end
    lua_mime.modify_headers(task, { add = added, remove = removed })
  end,
})

-- A failed delivery is reported only to a sender whose domain permits the sending server (SPF). Otherwise the address
-- is possibly forged, and the report would go to a victim: the return address becomes one whose mail is discarded.
rspamd_config:register_symbol({
  name = 'BUILDERS_UNPROVEN_SENDER',
  type = 'postfilter',
  priority = 5,
  flags = 'nostat',
  callback = function(task)
    -- rspamd 3.4 reads no sender outside ASCII, and shows none; that of a report is empty.
    local from = task:get_from('smtp')
    local is_report = from and from[1] and from[1].addr == ''
    if is_report or task:has_symbol('R_SPF_ALLOW') or is_from_here(task) then
      return
    end
    task:set_milter_reply({ change_from = 'unproven@<<host>>' })
  end,
})
