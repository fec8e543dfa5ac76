import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { e2eCluster, type E2eCluster } from '../../support/e2e-cluster.ts';
import { CDN_HOST, E2eNamespace } from '../../support/e2e-namespace.ts';

const NAMESPACE = `slipway-operator-${randomUUID().slice(0, 8)}`;

const cluster = e2eCluster();

describe.skipIf(cluster === null)('an installation with its operator', () => {
  const { kubectl, helm } = cluster ?? ({} as E2eCluster);
  const {
    client,
    control,
    create,
    damageFilm,
    eventually,
    openUpstream,
    podOf,
    readyPods,
    uninstallAtEnd,
    valuesOf,
  } = new E2eNamespace(cluster ?? ({} as E2eCluster), NAMESPACE);

  beforeAll(create);

  afterAll(() => {
    if (cluster !== null) kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
  });

  it('the operator reports the served release, or why there is none', async () => {
    const say = (typed: string): string => {
      // Remove quotes, as a shell would.
      return kubectl(['-n', NAMESPACE, ...typed.replaceAll("'", '').split(' ')]);
    };
    const wide = (): string => say('get releasechannels -o wide');
    const operated = { operator: { enabled: true }, crds: { install: true } };

    uninstallAtEnd('operated');
    openUpstream('operated');
    helm(['upgrade', '--install', 'operated', '-n', NAMESPACE], { ...valuesOf('operated'), ...operated });
    await eventually('the release is served', () => readyPods('operated') === 1);

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
    kubectl(['apply', '-f', '-'], JSON.stringify(channel));
    const fieldsOfChannel = (jsonpath: string): string =>
      kubectl(['-n', NAMESPACE, 'get', 'releasechannel', 'operated', '-o', `jsonpath=${jsonpath}`]);
    const ready = (): string => {
      const condition = '.status.conditions[?(@.type=="Ready")]';
      return fieldsOfChannel(`{${condition}.status} {${condition}.reason}`);
    };
    await eventually('the channel is ready', () => ready().startsWith('True '));
    expect(wide()).toContain('R-operated');

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
    pin(null);
    await eventually('the channel is ready without it', () => observed() && ready().startsWith('True '));

    const url = `http://operated.${NAMESPACE}.svc/${CDN_HOST}/film.mp4`;
    damageFilm('operated');
    client(`await fetch(process.argv[1]).then((r) => r.bytes()).catch(() => {})`, url);
    await eventually('the operator reports the damage', () => ready() === 'False EntryDamaged');
    await eventually('the pod has left the Service', () => readyPods('operated') === 0);
    expect(control('operated', 'repair')).toBe('202');
    await eventually('the channel is ready again', () => ready().startsWith('True '));

    const before = podOf('operated');
    const upgraded = { ...valuesOf('operated'), ...operated, commonLabels: { upgraded: 'yes' } };
    helm(['upgrade', 'operated', '-n', NAMESPACE], upgraded);
    await eventually('another pod serves it', () => {
      const now = podOf('operated');
      return now !== '' && now !== before && readyPods('operated') === 1 && ready().startsWith('True ');
    });

    helm(['uninstall', 'operated', '-n', NAMESPACE, '--wait']);
    // No operator is needed for it.
    say('delete releasechannel operated --timeout=30s');
    const kept = say('get secrets --selector app.kubernetes.io/instance=operated -o name').split('\n');
    expect(kept).toEqual(expect.arrayContaining(['secret/operated-admin', 'secret/operated-signing']));
    expect(say('get customresourcedefinitions -o name')).toContain('releasechannels.slipway.dev');
  });
});
