periplus refresh docs
periplus query docs "select url from changes where level in ('minor', 'major')" --csv >changes.txt
