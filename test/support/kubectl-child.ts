/**
 * Stands in for kubectl in tests: `port-forward` passes connections to the port in FORWARD_TO, `get secret` prints the
 * Secret in SECRET. It writes its process id to PID_FILE and its arguments to ARGS_FILE.
 */
import { appendFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import process from 'node:process';

const { FORWARD_TO, SECRET, PID_FILE = '', ARGS_FILE = '' } = process.env;
const args = process.argv.slice(2);
appendFileSync(ARGS_FILE, `${args.join(' ')}\n`);

if (args[0] === 'get') {
  process.stdout.write(SECRET ?? '');
} else if (FORWARD_TO === undefined) {
  process.stderr.write('Error from server (NotFound): services "slipway" not found\n');
  process.exitCode = 1;
} else {
  writeFileSync(PID_FILE, String(process.pid));
  const server = createServer((socket) => {
    const upstream = connect(Number(FORWARD_TO), '127.0.0.1');
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
    }
  });
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.stdout.write(`Forwarding from 127.0.0.1:${port} -> 8080\n`);
  });
}
