"""The reputation of domains: how much of a crawl each registrable domain gets, and when.

`policy` scores domains by the links between them, and turns scores into budgets; `job` does that for the domain graph
in the tables. The result is a learnt file (`known`), which a crawl follows (`part`). After Lee et al. (IRLbot, 2008)
and Gyongyi et al. (TrustRank, 2004).
"""
