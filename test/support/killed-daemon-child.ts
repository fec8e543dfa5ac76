/**
 * The daemon, which kills itself with SIGKILL when it reaches a failpoint for the given time.
 *
 * node test/support/killed-daemon-child.ts FAILPOINT TIME [ARGUMENT OF THE DAEMON ...]
 */
import process from 'node:process';
import { runDaemon } from '../../cmd/compose/daemon.ts';

const [place = '', time = ''] = process.argv.splice(2, 2);
let reached = 0;
const code = await runDaemon({
  hit: (name) => {
    if (name !== place) return;
    reached += 1;
    if (reached === Number(time)) process.kill(process.pid, 'SIGKILL');
  },
});
if (code !== null) process.exitCode = code;
