"""The conformance lab: put any crawler through a hostile web, and judge it by what the servers saw.

`sites` has the hosts of a trial, `cases` what a trial is and how its cases are judged, `trials` all of them by group;
`adapters` says how a crawler is started; `enclosure` and `name_server` make a network of the trial's own; `running`
runs one trial, `judging` all of them; `reports` shows the verdicts.
"""
