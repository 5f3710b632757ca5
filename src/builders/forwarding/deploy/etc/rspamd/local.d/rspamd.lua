-- `builders postfix config` writes this file.
-- A failed delivery is reported only to a sender whose domain permits the sending server (SPF). Otherwise the address
-- is possibly forged, and the report would go to a victim: the return address becomes one whose mail is discarded.
rspamd_config:register_symbol({
  name = 'BUILDERS_UNPROVEN_SENDER',
  type = 'postfilter',
  priority = 5,
  flags = 'nostat',
  callback = function(task)
    local from = task:get_from('smtp')
    if not from or not from[1] or from[1].addr == '' or task:has_symbol('R_SPF_ALLOW') then
      return
    end
    local address = task:get_from_ip()
    if not address or not address:is_valid() or address:is_local() then
      return
    end
    task:set_milter_reply({ change_from = 'unproven@<<host>>' })
  end,
})
