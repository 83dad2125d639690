-- Ask for every page of a list in turn: "host path" a line. The limit of the wire, with nothing read and no link followed.

local requests = {}
local at = 0

function init(args)
  for line in io.lines(args[1]) do
    local host, path = line:match("^(%S+) (%S+)$")
    requests[#requests + 1] = wrk.format("GET", path, { Host = host, ["Accept-Encoding"] = "gzip" })
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end
