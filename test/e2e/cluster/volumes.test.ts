import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { e2eCluster, type E2eCluster } from '../../support/e2e-cluster.ts';
import { CDN_HOST, E2eNamespace } from '../../support/e2e-namespace.ts';

const NAMESPACE = `slipway-volumes-${randomUUID().slice(0, 8)}`;

const cluster = e2eCluster();

// This node has no storage class: its volumes are host folders.
describe.skipIf(cluster === null || cluster.enter === null)('one pod on claims', () => {
  const { kubectl } = cluster ?? ({} as E2eCluster);
  const {
    closeUpstream,
    control,
    create,
    createVolumes,
    eventually,
    get,
    install,
    openUpstream,
    podOf,
    readyPods,
    serve,
    startLoad,
    uninstallAtEnd,
    untilReplaced,
    valuesOf,
  } = new E2eNamespace(cluster ?? ({} as E2eCluster), NAMESPACE);

  beforeAll(create);

  afterAll(() => {
    if (cluster !== null) kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
  });

  const claims = { kind: 'claim', snapshot: { size: '1Gi' }, data: { size: '1Gi' } };
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
    install('claims', { storage: claims, commonLabels: { upgraded: 'yes' } });
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
