import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeReleaseTree } from '../support/release-tree.ts';
import { freePorts } from '../support/free-ports.ts';
import { CDN_HOST, startSystem, type Readyz, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';
import { until } from '../support/until.ts';

const WITHOUT_IPV6 = ['python3', join(import.meta.dirname, '../support/without-ipv6.py')];
const FILE = 'a.txt';
const POD = 'fd00:db8::2';

/** A network of its own needs root. Elsewhere the test is skipped, and the reason is printed. */
function canSeparate(): boolean {
  if (process.getuid?.() === 0) return hasTool('ip', 'iproute2') && hasTool('nsenter', 'util-linux');
  if (process.env['CI'] === 'true') throw new Error('a network of its own needs root');
  console.warn('SKIPPED: a network of its own needs root');
  return false;
}

/** Makes the network of a pod in an IPv6-only cluster, where only loopback has IPv4. @returns the command that runs a program in it */
function networkOfIPv6(): readonly string[] {
  const name = `slipway-${process.pid}`;
  execFileSync('ip', ['netns', 'add', name]);
  onTestFinished(() => {
    execFileSync('ip', ['netns', 'delete', name]);
  });
  for (const command of ['link set lo up', `address add ${POD}/128 dev lo`]) {
    execFileSync('ip', ['-n', name, ...command.split(' ')]);
  }
  return ['nsenter', `--net=/run/netns/${name}`];
}

/** A system whose settings name no address for those outside; it runs under a command. */
async function startUnder(
  wrapper: readonly string[],
): Promise<{ readonly ports: readonly number[]; readonly system: TestSystem }> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r1', files: new Map([[FILE, Buffer.from('of the release')]]) });
  const ports = await freePorts(3);
  const [port, metrics, daemonMetrics] = ports;
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    server: { listen: { host: undefined, port }, metrics: { host: undefined, port: metrics } },
    daemon: { metrics: { port: daemonMetrics } },
    startNothing: true,
  });
  await Promise.all([system.startDaemon(wrapper), system.startServer(wrapper)]);
  return { ports, system };
}

const ask = (enter: readonly string[], url: string): string => {
  const [command, ...args] = [...enter, 'curl', '--silent', '--show-error', '--noproxy', '*', url];
  return execFileSync(command, args, { encoding: 'utf8' });
};

async function expectServed(
  { ports: [port, metrics, daemonMetrics] }: { readonly ports: readonly number[] },
  enter: readonly string[],
  host: string,
): Promise<void> {
  const { release_id: release } = await until(() => {
    const body = JSON.parse(ask(enter, `http://${host}:${port}/readyz`)) as Readyz;
    return body.distributable ? body : null;
  });
  expect(ask(enter, `http://${host}:${port}/${CDN_HOST}/${release}/${FILE}`)).toBe('of the release');
  // The metrics port asks the public one over loopback.
  expect(JSON.parse(ask(enter, `http://${host}:${metrics}/readyz`))).toMatchObject({ distributable: true });
  expect(ask(enter, `http://${host}:${daemonMetrics}/metrics`)).toContain('slipway_');
}

describe('programs whose settings name no address', () => {
  it.skipIf(!canSeparate())('serve in a network of IPv6 alone, and IPv4 where that is', async () => {
    const enter = networkOfIPv6();
    const started = await startUnder(enter);
    expect(started.system.server.url).toBe(`http://[::]:${started.ports[0]}`);
    for (const host of [`[${POD}]`, '127.0.0.1']) await expectServed(started, enter, host);
  });

  it.skipIf(process.platform !== 'linux' || !hasTool('python3'))(
    'serve IPv4 on a kernel without IPv6',
    async () => {
      const started = await startUnder(WITHOUT_IPV6);
      expect(started.system.server.url).toBe(`http://0.0.0.0:${started.ports[0]}`);
      await expectServed(started, [], '127.0.0.1');
    },
  );
});
