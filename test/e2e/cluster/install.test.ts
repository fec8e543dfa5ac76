import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startIngress, type IngressRule } from '../../support/e2e-ingress.ts';
import { e2eCluster, type E2eCluster } from '../../support/e2e-cluster.ts';
import { CDN_HOST, E2eNamespace } from '../../support/e2e-namespace.ts';
import { createTranscript } from '../../support/transcript.ts';

const NAMESPACE = `slipway-e2e-${randomUUID().slice(0, 8)}`;
const CRD = 'customresourcedefinition/releasechannels.slipway.dev';

const cluster = e2eCluster();

describe.skipIf(cluster === null)('in a cluster', () => {
  const { kubectl, helm } = cluster ?? ({} as E2eCluster);
  const {
    client,
    closeUpstream,
    control,
    create,
    createVolumes,
    eventually,
    get,
    holdDownloads,
    inDaemon,
    install,
    openUpstream,
    podOf,
    readyPods,
    serve,
    startLoad,
    uninstallAtEnd,
    valuesOf,
  } = new E2eNamespace(cluster ?? ({} as E2eCluster), NAMESPACE);

  /** Changes one byte of the film on the volume. */
  const damageFilm = (name: string): void => {
    inDaemon(
      name,
      `import { chmodSync, globSync, openSync, statSync, writeSync } from 'node:fs';
       const files = globSync('/var/lib/slipway/snapshot/store/objects/*/*');
       const [film] = files.filter((file) => statSync(file).size === 8388608);
       chmodSync(film, 0o600);
       writeSync(openSync(film, 'r+'), 'X', 4000000);`,
    );
  };
  beforeAll(create);

  afterAll(() => {
    if (cluster !== null) kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
  });

  it('a pod is ready only after its first attested sync, and helm test passes then', async () => {
    uninstallAtEnd('first');
    install('first');
    await eventually('the programs run', () => {
      const started = '{.status.containerStatuses[0].started}{.status.initContainerStatuses[0].started}';
      const pod = podOf('first');
      return (
        pod !== '' &&
        kubectl(['-n', NAMESPACE, 'get', 'pod', pod, '-o', `jsonpath=${started}`]) === 'truetrue'
      );
    });
    expect(readyPods('first')).toBe(0);
    openUpstream('first');
    expect(control('first', 'sync')).toBe('202');
    await eventually('the release is served', () => readyPods('first') === 1);
    expect(helm(['test', 'first', '-n', NAMESPACE, '--logs'])).toContain(
      'release R-first is served: 2 entries',
    );
  });

  it('ranges, HEAD and conditions hold through the Service', async () => {
    await serve('ranges');
    const url = `http://ranges.${NAMESPACE}.svc/${CDN_HOST}/R-ranges/film.mp4`;
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

  it('damage takes the pod out of the Service, and a repair brings it back', async () => {
    await serve('damage');
    const url = `http://damage.${NAMESPACE}.svc/${CDN_HOST}/film.mp4`;
    expect(get(url).status).toBe(200);
    damageFilm('damage');
    await eventually('the damage is found', () => {
      // One request for the bytes is enough to find the damage, unless the scrub finds it first.
      if (readyPods('damage') === 0) return true;
      client(`await fetch(process.argv[1]).then((r) => r.bytes()).catch(() => {})`, url);
      return false;
    });
    expect(control('damage', 'repair')).toBe('202');
    await eventually('the repair is seen', () => readyPods('damage') === 1);
    expect(get(url, { range: 'bytes=4000000-4000006' })).toMatchObject({ status: 206, text: 'slipway' });
  });

  // The stand-in for an ingress controller runs beside the pods.
  it.skipIf(cluster?.enter === null)(
    'the routes of the Ingress keep ranges, HEAD and conditions, and no other route is open',
    async () => {
      await serve('routed', { ingress: { enabled: true } });
      const routed = ['-n', NAMESPACE, 'get', 'ingress', 'routed', '-o', 'jsonpath={.spec.rules[0]}'];
      const { host, http } = JSON.parse(kubectl(routed)) as IngressRule;
      expect(host).toBe('resources.test.invalid');
      const address = kubectl([
        '-n',
        NAMESPACE,
        'get',
        'service',
        'routed',
        '-o',
        'jsonpath={.spec.clusterIP}',
      ]);
      const ingress = await startIngress(cluster as E2eCluster, http.paths, address);
      try {
        const base = `http://${ingress.address}`;
        await eventually('nginx answers', () => get(`${base}/readyz`).status === 200);
        const part = get(`${base}/${CDN_HOST}/R-routed/film.mp4`, { range: 'bytes=8-14' });
        expect(part).toMatchObject({
          status: 206,
          text: 'slipway',
          headers: { 'content-range': 'bytes 8-14/8388608' },
        });
        const { etag = '' } = part.headers;
        expect(etag).toMatch(/^"[^"]+"$/);
        expect(get(`${base}/${CDN_HOST}/R-routed/film.mp4`, { 'if-none-match': etag }).status).toBe(304);
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

  it('the operator reports the served release, or why there is none', async () => {
    const transcript = createTranscript(process.env['E2E_TRANSCRIPT'], { [NAMESPACE]: 'slipway' });
    const say = (typed: string): string => {
      // Remove quotes, as a shell would.
      const printed = kubectl(['-n', NAMESPACE, ...typed.replaceAll("'", '').split(' ')]);
      transcript.command(`kubectl -n ${NAMESPACE} ${typed}`, printed);
      return printed;
    };
    const wide = (): string => say('get releasechannels -o wide');
    const operated = { operator: { enabled: true }, crds: { install: true } };

    transcript.part('Install, and the first sync');
    uninstallAtEnd('operated');
    openUpstream('operated');
    transcript.command(
      `helm upgrade --install operated charts/slipway -n ${NAMESPACE} --values values.yaml`,
      helm(['upgrade', '--install', 'operated', '-n', NAMESPACE], { ...valuesOf('operated'), ...operated }),
    );
    await eventually('the release is served', () => readyPods('operated') === 1);
    say('get pods --selector app.kubernetes.io/instance=operated');

    transcript.part('A ReleaseChannel');
    const channel = {
      apiVersion: 'slipway.dev/v1alpha1',
      kind: 'ReleaseChannel',
      metadata: { name: 'operated', namespace: NAMESPACE },
      spec: {
        channel: 'official',
        serverRef: { name: 'operated', port: 80 },
        adminTokenSecretRef: { name: 'operated-admin', key: 'token' },
      },
    };
    transcript.command(
      'kubectl apply -f releasechannel.yaml',
      kubectl(['apply', '-f', '-'], JSON.stringify(channel)),
    );
    const fieldsOfChannel = (jsonpath: string): string =>
      kubectl(['-n', NAMESPACE, 'get', 'releasechannel', 'operated', '-o', `jsonpath=${jsonpath}`]);
    const ready = (): string => {
      const condition = '.status.conditions[?(@.type=="Ready")]';
      return fieldsOfChannel(`{${condition}.status} {${condition}.reason}`);
    };
    await eventually('the channel is ready', () => ready().startsWith('True '));
    expect(wide()).toContain('R-operated');

    transcript.part('Pin a release');
    const pin = (release: string | null): void => {
      say(`patch releasechannel operated --type merge -p '{"spec":{"release":${JSON.stringify(release)}}}'`);
    };
    const observed = (): boolean => {
      const [is, seen] = fieldsOfChannel('{.metadata.generation} {.status.observedGeneration}').split(' ');
      return is === seen;
    };
    pin('R-operated');
    await eventually('the pin is reached', () => observed() && ready().startsWith('True '));
    pin('R-unheard-of');
    await eventually('the unknown release is reported', () => ready().startsWith('False '));
    wide();
    pin(null);
    await eventually('the channel is ready without it', () => observed() && ready().startsWith('True '));

    transcript.part('Damage on the volume, and its repair');
    const url = `http://operated.${NAMESPACE}.svc/${CDN_HOST}/film.mp4`;
    damageFilm('operated');
    transcript.command(
      '# change one byte of an object on the volume; the next reader or the scrub finds it',
      '',
    );
    client(`await fetch(process.argv[1]).then((r) => r.bytes()).catch(() => {})`, url);
    await eventually('the operator reports the damage', () => ready() === 'False EntryDamaged');
    wide();
    await eventually('the pod has left the Service', () => readyPods('operated') === 0);
    expect(control('operated', 'repair')).toBe('202');
    transcript.command('# POST /admin/control/repair', '202');
    await eventually('the channel is ready again', () => ready().startsWith('True '));
    wide();

    transcript.part('Upgrade');
    const before = podOf('operated');
    const upgraded = { ...valuesOf('operated'), ...operated, commonLabels: { upgraded: 'yes' } };
    helm(['upgrade', 'operated', '-n', NAMESPACE], upgraded);
    transcript.command(`helm upgrade operated charts/slipway -n ${NAMESPACE} --values values.yaml`, '');
    await eventually('another pod serves it', () => {
      const now = podOf('operated');
      return now !== '' && now !== before && readyPods('operated') === 1 && ready().startsWith('True ');
    });
    wide();

    transcript.part('Uninstall');
    transcript.command(
      `helm uninstall operated -n ${NAMESPACE}`,
      helm(['uninstall', 'operated', '-n', NAMESPACE, '--wait']),
    );
    // No operator is needed for it.
    say('delete releasechannel operated --timeout=30s');
    const kept = say('get secrets --selector app.kubernetes.io/instance=operated -o name').split('\n');
    expect(kept).toEqual(expect.arrayContaining(['secret/operated-admin', 'secret/operated-signing']));
    expect(say('get customresourcedefinitions -o name')).toContain('releasechannels.slipway.dev');
  });

  it('a daemon that ends is restarted, and the server keeps serving', async () => {
    await serve('restart');
    const pod = podOf('restart');
    const restartsOf = (containers: string): string =>
      kubectl(['-n', NAMESPACE, 'get', 'pod', pod, '-o', `jsonpath={.status.${containers}[0].restartCount}`]);
    expect(restartsOf('initContainerStatuses')).toBe('0');
    kubectl(['-n', NAMESPACE, 'exec', pod, '-c', 'daemon', '--', 'node', '-e', 'process.kill(1, "SIGTERM")']);
    const url = `http://restart.${NAMESPACE}.svc/${CDN_HOST}/text.json`;
    const answers = new Set<number>();
    await eventually('the daemon is started again, and the file is served', () => {
      const { status } = get(url);
      // The only pod is not ready while one of its containers starts, so for a moment the Service may lead to none.
      if (status !== 0) answers.add(status);
      return restartsOf('initContainerStatuses') === '1' && answers.has(200);
    });
    expect([...answers]).toEqual([200]);
    expect(restartsOf('containerStatuses')).toBe('0');
    await eventually('it answers', () => control('restart', 'catalog-refresh') === '202');
    expect(readyPods('restart')).toBe(1);
  });

  it('neither a rolling upgrade nor a rollback under load loses a request', async () => {
    await serve('rolling');
    const load = await startLoad(`http://rolling.${NAMESPACE}.svc/${CDN_HOST}/text.json`);
    for (const step of ['upgrade', 'rollback'] as const) {
      const before = podOf('rolling');
      if (step === 'upgrade') install('rolling', { commonLabels: { upgraded: 'yes' } });
      else helm(['rollback', 'rolling', '1', '-n', NAMESPACE]);
      await eventually(`the ${step} is through`, () => {
        const status = kubectl(['-n', NAMESPACE, 'get', 'pods', '--ignore-not-found', '-o', 'name', before]);
        return status === '' && readyPods('rolling') === 1;
      });
    }
    const { single, kept, lost } = await load.stop();
    expect(lost).toEqual([]);
    expect(single).toBeGreaterThan(10);
    expect(kept).toBeGreaterThan(10);
  });

  // This node has no storage class: its volumes are host folders.
  describe.skipIf(cluster?.enter === null)('one pod on claims', () => {
    const claims = { kind: 'claim', snapshot: { size: '1Gi' }, data: { size: '1Gi' } };
    const untilReplaced = async (name: string, before: string): Promise<void> => {
      await eventually('another pod serves it alone', () => {
        const old = kubectl(['-n', NAMESPACE, 'get', 'pods', '--ignore-not-found', '-o', 'name', before]);
        return old === '' && readyPods(name) === 1;
      });
    };
    const expectFilm = (name: string): void => {
      const film = `http://${name}.${NAMESPACE}.svc/${CDN_HOST}/film.mp4`;
      expect(get(film, { range: 'bytes=8-14' })).toMatchObject({ status: 206, text: 'slipway' });
    };

    it('is upgraded without a lost request and outlived by its data, also while upstream is away', async () => {
      await createVolumes('claims', ['snapshot', 'data']);
      await serve('claims', { storage: claims });
      closeUpstream('claims');
      const before = podOf('claims');
      const load = await startLoad(`http://claims.${NAMESPACE}.svc/${CDN_HOST}/text.json`);
      const begun = performance.now();
      install('claims', { storage: claims, pod: { annotations: { changed: 'yes' } } });
      await untilReplaced('claims', before);
      const seconds = (performance.now() - begun) / 1000;
      const { single, kept, lost } = await load.stop();
      console.log(
        `an upgrade on claims took ${seconds.toFixed(1)} s: ${single + kept} requests, ${lost.length} lost`,
      );
      expect(lost).toEqual([]);
      expect(single).toBeGreaterThan(10);
      expect(kept).toBeGreaterThan(10);
      expectFilm('claims');
      // The daemon of the new pod has taken over.
      await eventually('the daemon of the new pod works', () => control('claims', 'refresh') === '202');
    });

    it('that never became ready is mended by an upgrade: its daemon gives way to the new one', async () => {
      await createVolumes('mended', ['snapshot', 'data']);
      uninstallAtEnd('mended');
      openUpstream('mended');
      const { daemon } = valuesOf('mended') as { daemon: { config: object } };
      const nowhere = {
        kind: 'manifest',
        manifest: { url: `http://outside.${NAMESPACE}.svc:9000/misspelt` },
      };
      install('mended', {
        storage: claims,
        daemon: { ...daemon, config: { ...daemon.config, upstream: nowhere } },
      });
      await eventually('the daemon works', () => {
        const pod = podOf('mended');
        return pod !== '' && control('mended', 'sync') === '202';
      });
      expect(readyPods('mended')).toBe(0);
      const before = podOf('mended');
      const begun = performance.now();
      install('mended', { storage: claims });
      await untilReplaced('mended', before);
      console.log(`an upgrade mended it after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
      expectFilm('mended');
    });
  });

  // This node has no storage class.
  it.skipIf(cluster?.enter === null)(
    'edges scale under load and back without a failed request or download, and keep their claims',
    async () => {
      const edge = {
        enabled: true,
        storage: { snapshot: { size: '1Gi' }, data: { size: '1Gi' } },
        server: { resources: { requests: { cpu: '120m', memory: '128Mi' } } },
        daemon: {
          config: { upstream: { slipway: { pollSeconds: 1 } } },
          resources: { requests: { cpu: '10m', memory: '128Mi' } },
        },
        autoscaling: { enabled: true, minReplicas: 1, maxReplicas: 2, scaleDownSeconds: 0 },
      };
      const ordinals = ['0', '1'];
      await createVolumes('snapshot-edged-edge', ordinals);
      await createVolumes('data-edged-edge', ordinals);
      const begun = performance.now();
      const say = (what: string): void => {
        console.log(`${what} after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
      };
      await serve('edged', { edge });
      await eventually('an edge is whole', () => readyPods('edged-edge') === 1);
      expect(helm(['test', 'edged', '-n', NAMESPACE, '--logs'])).toContain('edges serve release R-edged');
      await eventually('metrics are served', () =>
        kubectl(['get', '--raw', `/apis/metrics.k8s.io/v1beta1/namespaces/${NAMESPACE}/pods`]).includes(
          '"usage"',
        ),
      );
      say('metrics are served');

      const base = `http://edged-edge.${NAMESPACE}.svc/${CDN_HOST}/R-edged`;
      const calm = await startLoad(`${base}/text.json`, 40);
      const busy = await startLoad(`${base}/text.json`, 0.5);
      await eventually('the load makes a second edge', () => readyPods('edged-edge') === 2);
      say('a second edge was ready');
      const fieldOf = (pod: string, field: string): string =>
        kubectl(['-n', NAMESPACE, 'get', 'pod', pod, '--ignore-not-found', '-o', `jsonpath={${field}}`]);
      const address = fieldOf('edged-edge-1', '.status.podIP');
      const readOn = await holdDownloads(`http://${address}:8080/${CDN_HOST}/R-edged/film.mp4`);
      const load = await busy.stop();
      await eventually(
        'the edge that is no longer needed stops',
        () => fieldOf('edged-edge-1', '.metadata.deletionTimestamp') !== '',
      );
      say('the second edge began to stop');
      expect(await readOn()).toEqual([8_388_608, 8_388_608, 8_388_608, 8_388_608]);
      await eventually('the edge is gone', () => fieldOf('edged-edge-1', '.metadata.name') === '');
      say('the second edge was gone');
      const rest = await calm.stop();
      expect([...load.lost, ...rest.lost]).toEqual([]);
      expect(load.single + load.kept).toBeGreaterThan(100);
      expect(rest.single + rest.kept).toBeGreaterThan(10);
      const claims = kubectl(['-n', NAMESPACE, 'get', 'persistentvolumeclaims', '-o', 'name']).split('\n');
      expect(claims).toContain('persistentvolumeclaim/snapshot-edged-edge-1');
    },
  );

  it('an uninstall leaves the keys and the CRD', async () => {
    await serve('kept', { crds: { install: true } });
    helm(['uninstall', 'kept', '-n', NAMESPACE, '--wait']);
    const secrets = kubectl(['-n', NAMESPACE, 'get', 'secrets', '-o', 'name']).split('\n');
    expect(secrets).toEqual(expect.arrayContaining(['secret/kept-signing', 'secret/kept-admin']));
    expect(kubectl(['get', CRD, '-o', 'name'])).toContain('releasechannels.slipway.dev');
  });
});
