"""Forms (the deep web): found on every page, and submitted where that was asked for.

A form is known by its site, action and fields, however many pages show it. `part` holds all forms of a shard: it finds
them, loads their pages a second time, opens them, and submits what is due. `life` is one form that is being submitted:
what it wants next, and what an answer means for it.

The other modules decide, as pure functions: `kinds` what a form and its fields are for; `submitting` whether we submit
it, the URL that does, how often, and when a form is left alone; `words` which word to search for next; `prober` the
order of all that for one form. `settings` is the table `[forms]`, `rows` the table `form_probes` and its view.
"""
