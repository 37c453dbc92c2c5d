"""What `regraft serve` runs: the loop's runtime, and the service that the page, REST and people talk to.

`runtime` gives events to the loop's step and writes what it decides; `commands` carries out its commands;
`service` answers and takes decisions, in the values of `views`. `configuration` declares the sections and
keys (`model.setting_kinds` the kinds of values that keys can have); `configuration_file` reads the file,
writes the starter file and renders the reference.
"""
