-- `builders postfix config` writes this file.
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
    if is_report or task:has_symbol('R_SPF_ALLOW') then
      return
    end
    local address = task:get_from_ip()
    if not address or not address:is_valid() or address:is_local() then
      return
    end
    task:set_milter_reply({ change_from = 'unproven@<<host>>' })
  end,
})
