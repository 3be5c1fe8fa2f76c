#!/bin/bash
# Starts a Slurm cluster of four nodes of one core each on this machine, without systemd: up.sh FOLDER. Its state, logs and keys lie
# in the folder; FOLDER/environment is to be sourced by whoever submits. Needs root, for munge. down.sh FOLDER ends it.
set -euo pipefail
folder=$(realpath "$1")
mkdir -p "$folder"/{state,spool,log}
cd "$folder"
host=$(hostname -s)

dd if=/dev/urandom of=munge.key bs=128 count=1 status=none
chmod 400 munge.key
# Its socket must be in a folder that others cannot write to.
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
# What systemd and control groups do elsewhere.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
# A dead node is noticed, and its work put into the queue again, in seconds in place of minutes.
SlurmdTimeout=10
SlurmctldTimeout=10
InactiveLimit=0
KillWait=2
MinJobAge=300
SchedulerParameters=sched_interval=2
ReturnToService=2
JobRequeue=1
MailProg=/bin/true
# One machine stands for all of them, with fewer cores than it may have.
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
echo "the nodes do not come up:" >&2
sinfo -N -l >&2 || true
tail -n 20 log/*.log >&2
exit 1
