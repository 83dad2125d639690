"""The reputation of domains: how much of a crawl each registrable domain gets, and when.

`job` computes scores from the domain graph in the tables, `policy` turns them into budgets and passes. After Lee et al.
(IRLbot, 2008) and Gyongyi et al. (TrustRank, 2004). The crawl reads the result as a learnt file.
"""
