import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { e2eCluster, type E2eCluster } from '../../support/e2e-cluster.ts';
import { CDN_HOST, E2eNamespace } from '../../support/e2e-namespace.ts';

const NAMESPACE = `slipway-outages-${randomUUID().slice(0, 8)}`;
/** The installation that all tests share; each test restores what it changes. */
const NAME = 'shared';
const URL = `http://${NAME}.${NAMESPACE}.svc/${CDN_HOST}/text.json`;
const KILLS = 3;

/** Status and reason of Ready, status of Serving, and the serving pods of all pods. */
const CHANNEL_LINE =
  '{.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].reason} ' +
  '{.status.conditions[?(@.type=="Serving")].status} {.status.servingPods}';
/** {@link CHANNEL_LINE} while one pod serves. */
const SOUND = 'True Distributable True 1/1';
const READY_ADDRESSES = '{.endpoints[?(@.conditions.ready==true)].addresses[0]}';

const cluster = e2eCluster();

describe.skipIf(cluster === null)('an outage in a cluster', () => {
  const { kubectl: kubectlAnywhere, helm } = cluster ?? ({} as E2eCluster);
  const space = new E2eNamespace(cluster ?? ({} as E2eCluster), NAMESPACE);
  const { client, closeUpstream, eventually, get, inDaemon, kubectl, openUpstream, podOf, readyPods } = space;

  /** Prints how long something took. */
  const say = (what: string, sinceMs: number): void => {
    console.log(`${what}: ${((performance.now() - sinceMs) / 1000).toFixed(1)} s`);
  };
  const withDaemonSettings = (name: string, settings: object): object => {
    const { daemon } = space.valuesOf(name) as { daemon: { config: object } };
    return { daemon: { ...daemon, config: { ...daemon.config, ...settings } } };
  };
  const sharedValues = (): object => ({
    ...withDaemonSettings(NAME, {
      sync: { intervalSeconds: 30 },
      verify: { intervalSeconds: 60 },
      retention: { cleanupIntervalSeconds: 60 },
    }),
    crds: { install: true },
    operator: {
      enabled: true,
      // Of the installation `first`.
      tokenSecrets: ['first-admin'],
      config: { reconcile: { intervalSeconds: 5 } },
    },
  });
  /** The release that the clients of the Service get. */
  const servedRelease = (): string => {
    const { text } = get(`http://${NAME}.${NAMESPACE}.svc/v1/release`);
    return (JSON.parse(text) as { release: { release_id: string } }).release.release_id;
  };

  /** How often the kubelet has started the daemon's container again. */
  const daemonRestarts = (pod: string): number =>
    Number(kubectl(['get', 'pod', pod, '-o', 'jsonpath={.status.initContainerStatuses[0].restartCount}']));

  const channelField = (name: string, jsonpath: string): string =>
    kubectl(['get', 'releasechannel', name, '-o', `jsonpath=${jsonpath}`]);
  const channelOf = (name: string, spec: object = {}): object => ({
    apiVersion: 'slipway.dev/v1alpha1',
    kind: 'ReleaseChannel',
    metadata: { name },
    spec: {
      channel: 'official',
      serverRef: { name, port: 80 },
      adminTokenSecretRef: { name: `${name}-admin`, key: 'token' },
      ...spec,
    },
  });
  /** Creates a ReleaseChannel that stays until the test ends. */
  const applyChannel = (name: string, spec: object = {}): void => {
    kubectl(['apply', '-f', '-'], JSON.stringify(channelOf(name, spec)));
    onTestFinished(() => {
      kubectl(['delete', 'releasechannel', name, '--ignore-not-found', '--timeout=60s']);
    });
  };
  const untilChannelReady = async (name: string): Promise<void> => {
    await eventually('the ReleaseChannel is ready', () => channelField(name, CHANNEL_LINE) === SOUND);
  };
  const requestSync = (name: string): void => {
    const value = `slipway.dev/requestedAt=${new Date().toISOString()}`;
    kubectl(['annotate', 'releasechannel', name, '--overwrite', value]);
  };
  /** The messages of the events of a ReleaseChannel. */
  const notesOf = (name: string, reason: string): string => {
    const selector = `involvedObject.name=${name},reason=${reason}`;
    return kubectl(['get', 'events', '--field-selector', selector, '-o', 'jsonpath={.items[*].message}']);
  };

  /** Runs slipway ctl in the client pod against the admin Service. */
  const ctl = (namespace: string, name: string, ...words: string[]): { code: number; text: string } => {
    const secret = ['-n', namespace, 'get', 'secret', `${name}-admin`, '-o', 'jsonpath={.data.token}'];
    const token = Buffer.from(kubectlAnywhere(secret), 'base64').toString('utf8');
    return JSON.parse(
      client(
        `import { spawnSync } from 'node:child_process';
         const [url, token, ...words] = process.argv.slice(1);
         const env = { ...process.env, SLIPWAY_CTL_TOKEN: token };
         const { status, stdout, stderr } = spawnSync('node', ['cmd/slipway.ts', 'ctl', '--url', url, ...words], { env, encoding: 'utf8' });
         console.log(JSON.stringify({ code: status, text: stdout + stderr }));`,
        `http://${name}-admin.${namespace}.svc`,
        token,
        ...words,
      ),
    ) as { code: number; text: string };
  };

  beforeAll(async () => {
    await space.create();
    openUpstream(NAME);
    space.install(NAME, sharedValues());
    await space.untilServed(NAME);
  });

  afterAll(() => {
    if (cluster !== null) kubectlAnywhere(['delete', 'namespace', NAMESPACE, '--wait=false']);
  });

  it('an install without a ReleaseChannel and without schedules fetches a new release by itself', async () => {
    const schedules = ctl(NAMESPACE, NAME, 'schedules').text;
    for (const id of ['configured:sync', 'configured:verify:official', 'configured:cleanup']) {
      expect(schedules).toContain(id);
    }
    const published = performance.now();
    openUpstream(NAME, 'R-next');
    await eventually('the new release is served', () => servedRelease() === 'R-next');
    say('a new release was served without any request after', published);
  });

  it('a daemon that is killed several times costs neither an endpoint nor a request', async () => {
    const pod = podOf(NAME);
    const before = daemonRestarts(pod);
    const endpoints = await space.watch(
      ['endpointslices', '-l', `kubernetes.io/service-name=${NAME}`],
      READY_ADDRESSES,
    );
    const conditions = await space.watch(['pod', pod], '{.status.conditions[?(@.type=="Ready")].status}');
    const load = await space.startLoad(URL);
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const milliseconds = inDaemon(
        NAME,
        `import { readdirSync, readFileSync } from 'node:fs';
         import { setTimeout as delay } from 'node:timers/promises';
         const isDaemon = (pid) => Number(pid) !== process.pid && commandOf(pid).includes('cmd/daemon.ts');
         const commandOf = (pid) => { try { return readFileSync('/proc/' + pid + '/cmdline', 'utf8'); } catch { return ''; } };
         const daemons = () => readdirSync('/proc').filter((name) => Number(name) > 1 && isDaemon(name));
         const answers = () => fetch('http://127.0.0.1:8091/readyz').then(({ ok }) => ok, () => false);
         const [killed] = daemons();
         process.kill(Number(killed), 'SIGKILL');
         const at = performance.now();
         while (daemons().includes(killed) || !(await answers())) await delay(20);
         console.log(Math.round(performance.now() - at));`,
      );
      expect(milliseconds).toMatch(/^\d+$/);
      console.log(`kill ${kill}: the daemon was ready again after ${milliseconds} ms`);
    }
    const { single, kept, lost } = await load.stop();
    console.log(`${single + kept} requests during ${KILLS} kills of the daemon, ${lost.length} lost`);
    expect(lost).toEqual([]);
    expect(single).toBeGreaterThan(10);
    expect(kept).toBeGreaterThan(10);
    expect(endpoints.lines).not.toContain('');
    expect(conditions.lines).not.toContain('False');
    expect(daemonRestarts(pod)).toBe(before);
  });

  it('a ReleaseChannel is not ready while the Service has no ready endpoint', async () => {
    applyChannel(NAME);
    await untilChannelReady(NAME);
    const channel = await space.watch(['releasechannel', NAME], CHANNEL_LINE);
    const pod = podOf(NAME);
    const end = (): void => {
      try {
        kubectl(['exec', pod, '-c', 'daemon', '--', 'node', '-e', 'process.kill(1, "SIGTERM")']);
      } catch {
        // The container has ended.
      }
    };
    // A container that ends twice in a row waits ten seconds before its next start. Until then the pod is not ready,
    // while its server answers and reports a sound release.
    const before = daemonRestarts(pod);
    await eventually('the daemon is started again', () => {
      if (daemonRestarts(pod) > before) return readyPods(NAME) === 1;
      end();
      return false;
    });
    const begun = performance.now();
    await eventually('the pod is not ready', () => {
      if (readyPods(NAME) === 0) return true;
      end();
      return false;
    });
    const gone = performance.now();
    await eventually('the ReleaseChannel reports it', () =>
      channel.lines.some((line) => line.startsWith('False EndpointNotReady False')),
    );
    say('the ReleaseChannel was not ready after its endpoint was seen unready', gone);
    await eventually('the pod is ready again', () => readyPods(NAME) === 1);
    say('the Service had no ready endpoint for', begun);
    const back = performance.now();
    await eventually('the ReleaseChannel is ready again', () => channel.lines.at(-1) === SOUND);
    say('the ReleaseChannel was ready again after its endpoint', back);
  });

  it('a sync that fails shows in the status, in the column and as an event, until one succeeds', async () => {
    applyChannel(NAME, { sync: { interval: '30s' } });
    await untilChannelReady(NAME);
    const release = servedRelease();
    closeUpstream(NAME);
    onTestFinished(() => {
      openUpstream(NAME, release);
    });
    const failing = performance.now();
    requestSync(NAME);
    const untilSync = async (what: string, expected: object): Promise<void> => {
      await eventually(what, () => {
        const sync = JSON.parse(channelField(NAME, '{.status.sync}')) as { consecutiveFailures: number };
        expect(sync).toMatchObject(expected);
        return true;
      });
    };
    // One status has all of it; the next try changes parts.
    await untilSync('the failure is reported', {
      result: 'Failed',
      reason: expect.stringMatching(/^upstream_/),
      message: expect.stringContaining('404'),
      nextAt: expect.any(String),
      consecutiveFailures: expect.toSatisfy((count: number) => count > 0),
    });
    say('a failed sync was reported after', failing);
    expect(kubectl(['get', 'releasechannel', NAME])).toMatch(/SYNC[^]*\bFailed\b/);
    expect(kubectl(['get', 'releasechannel', NAME, '-o', 'wide'])).toMatch(/SYNC-REASON[^]*\bupstream_/);
    await eventually('the event is recorded', () => notesOf(NAME, 'SyncFailed').includes('404'));
    expect(channelField(NAME, CHANNEL_LINE)).toBe(SOUND);

    openUpstream(NAME, release);
    const restored = performance.now();
    requestSync(NAME);
    await untilSync('the success is reported', { result: 'Unchanged', consecutiveFailures: 0 });
    say('a successful sync was reported after', restored);
    await eventually('its event is recorded', () => notesOf(NAME, 'SyncSucceeded') !== '');
  });

  it('a first sync that cannot reach upstream is retried, says so, and succeeds when upstream comes', async () => {
    const name = 'first';
    const upstream = 'first-upstream';
    const service = (target: string): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: upstream },
        spec: { selector: { app: target }, ports: [{ port: 9000 }] },
      });
    // Connections to a Service without a pod are refused.
    kubectl(['apply', '-f', '-'], service('nobody'));
    openUpstream(name);
    space.uninstallAtEnd(name);
    space.install(
      name,
      withDaemonSettings(name, {
        upstream: {
          kind: 'manifest',
          manifest: { url: `http://${upstream}.${NAMESPACE}.svc:9000/${name}` },
        },
        // No schedule helps.
        sync: { intervalSeconds: 0 },
      }),
    );
    applyChannel(name);
    await eventually('the failed sync is reported with the next try', () => {
      const [result, next] = channelField(name, '{.status.sync.result} {.status.sync.nextAt}').split(' ');
      return result === 'Failed' && next !== undefined && next !== '';
    });
    expect(channelField(name, '{.status.sync.message}')).toContain(upstream);
    expect(readyPods(name)).toBe(0);
    const arrived = performance.now();
    kubectl(['apply', '-f', '-'], service('outside'));
    await eventually('the release is served', () => readyPods(name) === 1);
    say('the first release was served after upstream came, after', arrived);
    await untilChannelReady(name);
    // The release is served before the task has ended.
    await eventually(
      'the sync has succeeded',
      () => channelField(name, '{.status.sync.result}') === 'Changed',
    );
  });

  it('a signing key that is replaced in its Secret loses no request', async () => {
    const secret = `${NAME}-signing`;
    const field = (key: string): string =>
      Buffer.from(kubectl(['get', 'secret', secret, '-o', `jsonpath={.data.${key}}`]), 'base64').toString();
    const write = (key: string, text: string): void => {
      const patch = { stringData: { [key]: text } };
      kubectl(['patch', 'secret', secret, '-p', JSON.stringify(patch)]);
    };
    const count = (container: string, message: string): number =>
      kubectl(['logs', podOf(NAME), '-c', container, '--tail=-1']).split(message).length - 1;
    /** Changes the Secret and waits until a program uses the change. */
    const step = async (key: string, text: string, container: string, message: string): Promise<void> => {
      const before = count(container, message);
      const begun = performance.now();
      write(key, text);
      await eventually(`${container} logs "${message}"`, () => count(container, message) > before);
      say(`${key} of the Secret was in use after`, begun);
    };
    const { privateKey, publicKey } = generateKeyPairSync('ed25519', {
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const trusted = 'the trusted public keys have changed';
    // The steps of docs/how-to/rotate-keys-and-tokens.md.
    const load = await space.startLoad(URL);
    const old = field('signing\\.pub');
    await step('signing.pub', `${old.trimEnd()}\n${publicKey}`, 'server', trusted);
    await step('signing.key', privateKey, 'daemon', 'the signing keys changed');
    await step('signing.pub', publicKey, 'server', trusted);
    expect(get(`http://${NAME}.${NAMESPACE}.svc/readyz`).status).toBe(200);
    const { single, kept, lost } = await load.stop();
    console.log(`${single + kept} requests during the rotation, ${lost.length} lost`);
    expect(lost).toEqual([]);
    expect(single).toBeGreaterThan(10);
    expect(kept).toBeGreaterThan(10);
  });

  it('a ReleaseChannel never counts zero pods while endpoints change', async () => {
    applyChannel(NAME);
    await untilChannelReady(NAME);
    const channel = await space.watch(['releasechannel', NAME], CHANNEL_LINE);
    const scale = (replicas: number): void => {
      kubectl(['scale', 'deployment', NAME, `--replicas=${replicas}`]);
    };
    onTestFinished(() => {
      scale(1);
    });
    const begun = performance.now();
    scale(2);
    await eventually('both pods are counted', () => channel.lines.includes('True Distributable True 2/2'));
    scale(1);
    await eventually('one pod is counted', () => channel.lines.at(-1) === SOUND);
    // Changes without effect: the operator gets each of them as an event.
    for (let change = 0; change < 10; change += 1) {
      const slices = ['endpointslices', '-l', `kubernetes.io/service-name=${NAME}`];
      kubectl(['annotate', ...slices, '--overwrite', `changed=${change}`]);
    }
    await untilChannelReady(NAME);
    say('a second pod came and went', begun);
    expect(channel.lines.filter((line) => /NoPods|\b0\/0\b/.test(line))).toEqual([]);
  });

  it('the admin Service reaches a pod that is not ready, and its namespace is deleted without waiting', async () => {
    const name = 'unready';
    const other = `${NAMESPACE}-deleted`;
    kubectlAnywhere(['create', 'namespace', other]);
    onTestFinished(() => {
      kubectlAnywhere(['delete', 'namespace', other, '--ignore-not-found', '--wait=false']);
    });
    // No upstream, so the pod never becomes ready.
    const { server, ...values } = space.valuesOf(name) as { server: { config: object } };
    // Kubernetes waits for half of the time that a pod may take to end.
    const shutdown = { propagationDelaySeconds: 0, drainSeconds: 1 };
    helm(['upgrade', '--install', name, '-n', other], {
      ...values,
      ...withDaemonSettings(name, { upstream: { kind: 'none' } }),
      server: { ...server, config: { ...server.config, shutdown } },
      operator: { enabled: true, config: { reconcile: { intervalSeconds: 5 } } },
    });
    const channel = channelOf(name, { verify: { interval: '1h' } });
    kubectlAnywhere(['-n', other, 'apply', '-f', '-'], JSON.stringify(channel));
    await eventually('slipway ctl status answers', () => {
      const { code, text } = ctl(other, name, 'status');
      return code === 1 && text.includes('NoUpstream');
    });
    expect(get(`http://${name}.${other}.svc/healthz`).status).toBe(0);
    await eventually('the operator has added its schedule', () =>
      ctl(other, name, 'schedules').text.includes(`relch:${other}:${name}:verify`),
    );

    const begun = performance.now();
    kubectlAnywhere(['delete', 'namespace', other, '--wait=false']);
    await eventually(
      'the namespace is gone',
      () => kubectlAnywhere(['get', 'namespace', other, '--ignore-not-found', '-o', 'name']) === '',
    );
    say('a namespace with a ReleaseChannel and its operator was deleted after', begun);
  });
});
