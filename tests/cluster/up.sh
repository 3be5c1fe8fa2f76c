#!/bin/bash
# Starts a Slurm cluster of four nodes with one core each on this machine, without systemd: up.sh FOLDER. Its state, logs and keys are in
# FOLDER. Source FOLDER/environment before submitting a job. Needs root because of munge. down.sh FOLDER stops the cluster.
set -euo pipefail
folder=$(realpath "$1")
mkdir -p "$folder"/{state,spool,log}
cd "$folder"
host=$(hostname -s)

dd if=/dev/urandom of=munge.key bs=128 count=1 status=none
chmod 400 munge.key
# The socket must be in a folder that other users cannot write to.
munged --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
  --seed-file="$folder/munge.seed" --log-file="$folder/log/munged.log" --num-threads=2 --force 2>/dev/null

cat > slurm.conf <<CONF
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${CLUSTER_PORT:-26817}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/%n.log
# Replacements for systemd and control groups.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
# Detect a dead node and requeue its work within seconds instead of minutes.
SlurmdTimeout=10
SlurmctldTimeout=10
InactiveLimit=0
KillWait=2
MinJobAge=300
SchedulerParameters=sched_interval=2
ReturnToService=2
JobRequeue=1
MailProg=/bin/true
# All nodes are this machine, with fewer cores than it may have.
SlurmdParameters=config_overrides
NodeName=n[1-4] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((${CLUSTER_PORT:-26817} + 1))-$((${CLUSTER_PORT:-26817} + 4))] CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
echo "export SLURM_CONF=$folder/slurm.conf" > environment
source environment

slurmctld
for node in n1 n2 n3 n4; do slurmd -N "$node"; done
for _ in $(seq 60); do
  [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)" = 4 ] && exit 0
  sleep 0.5
done
echo "the nodes did not start:" >&2
sinfo -N -l >&2 || true
tail -n 20 log/*.log >&2
exit 1
