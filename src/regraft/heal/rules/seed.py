"""The four rules of Mimosa Pudica §4.3, punctuated as printed there."""

SEED_RULES = """\
type oblig deleteBrokerRules(target database, Broker<T> broker){
subject   AdaptationManager;
on       deleteBrokerRequest();
do       database.deleteBroker(broker);}

type oblig addBrokerRules(target database, Broker<T> broker){
subject   AdaptationManager;
on       addBrokerRequest();
do       database.addBroker(broker);}

type oblig failureJudgmentRules(target database, Broker<T> broker){
subject   AdaptationManager;
on       migrateBrokerRequest(Monitor, max_input_rate,; min_output_rate);
do       database.goBroker(broker);
when     max_input_rate <= min_output_rate;}

type oblig taskTransferRules(target database, Broker<List<T>>brokers){
subject   AdaptationManager;
on       transferBrokerRequest(Compression brokers, local_ip_info, remote_ip_info);
do       database.goBroker(brokers);
when     brokers.getBrokersID() <= User Defined;
"""
