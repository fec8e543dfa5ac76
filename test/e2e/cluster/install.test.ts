import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startIngress, type IngressRule } from '../../support/e2e-ingress.ts';
import { e2eCluster, type E2eCluster } from '../../support/e2e-cluster.ts';
import { CDN_HOST, E2eNamespace } from '../../support/e2e-namespace.ts';

const NAMESPACE = `slipway-e2e-${randomUUID().slice(0, 8)}`;
/** The installation that all tests share, in this order; each test restores what it changes. */
const NAME = 'one';
const RELEASE = `R-${NAME}`;
const CDN = `http://${NAME}.${NAMESPACE}.svc/${CDN_HOST}`;
/** On a busy node it takes more than the default of 5 seconds until no connection is sent to a pod that ends. */
const SHUTDOWN = { propagationDelaySeconds: 20 };

const cluster = e2eCluster();

describe.skipIf(cluster === null)('in a cluster', () => {
  const { kubectl: kubectlAnywhere, helm } = cluster ?? ({} as E2eCluster);
  const {
    client,
    control,
    create,
    damageFilm,
    eventually,
    get,
    install,
    kubectl,
    openUpstream,
    podOf,
    readyPods,
    startLoad,
    untilReplaced,
    untilServed,
    valuesOf,
  } = new E2eNamespace(cluster ?? ({} as E2eCluster), NAMESPACE);
  const { server } = valuesOf(NAME) as { server: { config: object } };
  const values = {
    // It adds nothing to the pod.
    ingress: { enabled: true },
    server: { ...server, config: { ...server.config, shutdown: SHUTDOWN } },
  };

  beforeAll(create);

  afterAll(() => {
    if (cluster !== null) kubectlAnywhere(['delete', 'namespace', NAMESPACE, '--wait=false']);
  });

  it('a pod is ready only after its first attested sync, and helm test passes then', async () => {
    install(NAME, values);
    await eventually('the programs run', () => {
      const started = '{.status.containerStatuses[0].started}{.status.initContainerStatuses[0].started}';
      const pod = podOf(NAME);
      return pod !== '' && kubectl(['get', 'pod', pod, '-o', `jsonpath=${started}`]) === 'truetrue';
    });
    expect(readyPods(NAME)).toBe(0);
    openUpstream(NAME);
    expect(control(NAME, 'sync')).toBe('202');
    await untilServed(NAME);
    expect(helm(['test', NAME, '-n', NAMESPACE, '--logs'])).toContain(
      `release ${RELEASE} is served: 2 entries`,
    );
    // As the runbooks say it: the container has the address and the token.
    expect(kubectl(['exec', podOf(NAME), '-c', 'server', '--', 'slipway', 'ctl', 'status'])).toContain(
      RELEASE,
    );
  });

  it('ranges, HEAD and conditions hold through the Service', () => {
    const url = `${CDN}/${RELEASE}/film.mp4`;
    const part = get(url, { range: 'bytes=8-14' });
    expect(part).toMatchObject({
      status: 206,
      text: 'slipway',
      headers: {
        'content-range': 'bytes 8-14/8388608',
        'cache-control': 'public, max-age=31536000, immutable',
      },
    });
    const { etag = '' } = part.headers;
    expect(get(url, { 'if-none-match': etag }).status).toBe(304);
    expect(get(url, { range: 'bytes=0-0', 'if-range': etag }).status).toBe(206);
    expect(get(url, { range: 'bytes=9999999-' })).toMatchObject({ status: 416 });
  });

  // The stand-in for an ingress controller runs beside the pods.
  it.skipIf(cluster?.enter === null)(
    'the routes of the Ingress keep ranges, HEAD and conditions, and no other route is open',
    async () => {
      const routed = kubectl(['get', 'ingress', NAME, '-o', 'jsonpath={.spec.rules[0]}']);
      const { host, http } = JSON.parse(routed) as IngressRule;
      expect(host).toBe('resources.test.invalid');
      const address = kubectl(['get', 'service', NAME, '-o', 'jsonpath={.spec.clusterIP}']);
      const ingress = await startIngress(cluster as E2eCluster, http.paths, address);
      try {
        const base = `http://${ingress.address}`;
        await eventually('nginx answers', () => get(`${base}/readyz`).status === 200);
        const part = get(`${base}/${CDN_HOST}/${RELEASE}/film.mp4`, { range: 'bytes=8-14' });
        expect(part).toMatchObject({
          status: 206,
          text: 'slipway',
          headers: { 'content-range': 'bytes 8-14/8388608' },
        });
        const { etag = '' } = part.headers;
        expect(etag).toMatch(/^"[^"]+"$/);
        expect(get(`${base}/${CDN_HOST}/${RELEASE}/film.mp4`, { 'if-none-match': etag }).status).toBe(304);
        expect(
          get(`${base}/${CDN_HOST}/film.mp4`, { range: 'bytes=0-0', 'if-range': '"other"' }).status,
        ).toBe(200);
        expect(
          client(
            `const response = await fetch(process.argv[1], { method: 'HEAD' });
           console.log(response.status, response.headers.get('content-length'));`,
            `${base}/${CDN_HOST}/film.mp4`,
          ),
        ).toBe('200 8388608');
        expect(get(`${base}/v1/release`).status).toBe(200);
        expect(get(`${base}/admin/`).headers['x-closed']).toBe('yes');
      } finally {
        await ingress.stop();
      }
    },
  );

  it('a daemon that ends is restarted, and the server keeps serving', async () => {
    const pod = podOf(NAME);
    const restartsOf = (containers: string): number =>
      Number(kubectl(['get', 'pod', pod, '-o', `jsonpath={.status.${containers}[0].restartCount}`]));
    const [daemon, server] = [restartsOf('initContainerStatuses'), restartsOf('containerStatuses')];
    kubectl(['exec', pod, '-c', 'daemon', '--', 'node', '-e', 'process.kill(1, "SIGTERM")']);
    const url = `${CDN}/text.json`;
    const answers = new Set<number>();
    await eventually('the daemon is started again, and the file is served', () => {
      const { status } = get(url);
      // The only pod is not ready while one of its containers starts, so for a moment the Service may lead to none.
      if (status !== 0) answers.add(status);
      return restartsOf('initContainerStatuses') > daemon && answers.has(200);
    });
    expect([...answers]).toEqual([200]);
    expect(restartsOf('containerStatuses')).toBe(server);
    await eventually('it answers', () => control(NAME, 'catalog-refresh') === '202');
    await untilServed(NAME);
  });

  it('damage takes the pod out of the Service, and a repair brings it back', async () => {
    const url = `${CDN}/film.mp4`;
    expect(get(url).status).toBe(200);
    damageFilm(NAME);
    await eventually('the damage is found', () => {
      // One request for the bytes is enough to find the damage, unless the scrub finds it first.
      if (readyPods(NAME) === 0) return true;
      client(`await fetch(process.argv[1]).then((r) => r.bytes()).catch(() => {})`, url);
      return false;
    });
    expect(control(NAME, 'repair')).toBe('202');
    await untilServed(NAME);
    expect(get(url, { range: 'bytes=4000000-4000006' })).toMatchObject({ status: 206, text: 'slipway' });
  });

  it('neither a rolling upgrade nor a rollback under load loses a request', async () => {
    const load = await startLoad(`${CDN}/text.json`);
    for (const step of ['upgrade', 'rollback'] as const) {
      const before = podOf(NAME);
      if (step === 'upgrade') install(NAME, { ...values, commonLabels: { upgraded: 'yes' } });
      else helm(['rollback', NAME, '1', '-n', NAMESPACE]);
      await untilReplaced(NAME, before);
    }
    const { single, kept, lost } = await load.stop();
    expect(lost).toEqual([]);
    expect(single).toBeGreaterThan(10);
    expect(kept).toBeGreaterThan(10);
  });
});
