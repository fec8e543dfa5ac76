import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReleaseChannelStatus } from '../../../src/contract/crd/release-channel.ts';
import { e2eCluster, type E2eCluster } from '../../support/e2e-cluster.ts';
import { CDN_HOST, E2eNamespace } from '../../support/e2e-namespace.ts';
import { createTranscript } from '../../support/transcript.ts';

const NAMESPACE = `slipway-texts-${randomUUID().slice(0, 8)}`;
const NAME = 'two';
const SERVER = `http://${NAME}.${NAMESPACE}.svc`;
/** The one text of a release, and its translations. */
const SOURCE = 'resource of R1';
const [FIRST, SECOND] = ['R1 的资源', 'R1 的素材'];

const cluster = e2eCluster();

describe.skipIf(cluster === null)('localization in a cluster', () => {
  const { kubectl: kubectlAnywhere, helm } = cluster ?? ({} as E2eCluster);
  const space = new E2eNamespace(cluster ?? ({} as E2eCluster), NAMESPACE);
  const { client, control, create, createVolumes, eventually, get, kubectl, openUpstream, readyPods } = space;
  const transcript = createTranscript(process.env['E2E_LOCALIZATION_TRANSCRIPT'], { [NAMESPACE]: 'slipway' });

  const values = (): object => {
    const { daemon, ...rest } = space.valuesOf(NAME) as { daemon: { config: object } };
    return {
      ...rest,
      storage: { kind: 'claim', snapshot: { size: '1Gi' }, data: { size: '1Gi' } },
      crds: { install: true },
      operator: { enabled: true, config: { reconcile: { intervalSeconds: 5 } } },
      localization: {
        enabled: true,
        files: {
          'fixture.jsonl': JSON.stringify({ source_text: SOURCE, translated_text: FIRST }),
        },
        exchange: { size: '1Gi' },
        daemonResources: { requests: { cpu: '10m', memory: '256Mi' } },
      },
      daemon: {
        ...daemon,
        config: {
          ...daemon.config,
          parse: { sourceScript: 'any', rules: [{ destination: ['film.mp4'], format: 'skip' }] },
          translation: {
            sourceLanguage: 'en',
            targetLanguage: 'zh-Hans',
            fixtureRoot: '/etc/slipway/localization',
          },
          localized: { minState: 'draft' },
        },
      },
    };
  };
  const channel = (name: 'official' | 'localized', spec: object = {}): object => ({
    apiVersion: 'slipway.dev/v1alpha1',
    kind: 'ReleaseChannel',
    metadata: { name },
    spec: {
      channel: name,
      serverRef: { name: NAME, port: 80 },
      adminTokenSecretRef: { name: `${NAME}-admin`, key: 'token' },
      ...spec,
    },
  });
  const statusOf = (name: string): ReleaseChannelStatus | undefined =>
    (JSON.parse(kubectl(['get', 'releasechannel', name, '-o', 'json'])) as { status?: ReleaseChannelStatus })
      .status;
  /** Status and reason of a condition of the localized channel, for the present spec. */
  const condition = (type: string): string => {
    const generation = Number(
      kubectl(['get', 'releasechannel', 'localized', '-o', 'jsonpath={.metadata.generation}']),
    );
    const found = statusOf('localized')?.conditions.find((each) => each.type === type);
    return found?.observedGeneration === generation ? `${found.status} ${found.reason}` : '';
  };
  const becomes = async (type: string, state: string): Promise<void> => {
    await eventually(`${type} becomes ${state}`, () => condition(type) === state);
  };
  const show = (): void => {
    transcript.command(
      `kubectl -n ${NAMESPACE} get releasechannels -o wide`,
      kubectl(['get', 'releasechannels', '-o', 'wide']),
    );
  };
  const pin = (release: string | null): void => {
    const patch = JSON.stringify({ spec: { release } });
    transcript.command(
      `kubectl -n ${NAMESPACE} patch releasechannel localized --type merge -p '${patch}'`,
      kubectl(['patch', 'releasechannel', 'localized', '--type', 'merge', '-p', patch]),
    );
  };
  /** The pods follow the daemon, and the proxy of the node follows the pods. */
  const untilServed = async (release: string, text: string): Promise<void> => {
    await eventually(
      `${release} has "${text}"`,
      () => get(`${SERVER}/${CDN_HOST}/${release}/text.json`).text === JSON.stringify({ text }),
    );
  };
  const untilStatus = async (path: string, status: number): Promise<void> => {
    await eventually(`${path} answers ${status}`, () => get(`${SERVER}${path}`).status === status);
  };

  /** Calls the admin surface from the client pod. */
  const admin = (path: string, body: object | null = null): Record<string, unknown> => {
    const token = Buffer.from(
      kubectl(['get', 'secret', `${NAME}-admin`, '-o', 'jsonpath={.data.token}']),
      'base64',
    ).toString();
    const printed = client(
      `const [url, token, body] = process.argv.slice(1);
       const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' };
       const response = await fetch(url, body === 'null' ? { headers } : { headers, method: 'POST', body });
       console.log(JSON.stringify({ status: response.status, body: await response.json() }));`,
      `${SERVER}${path}`,
      token,
      JSON.stringify(body),
    );
    const answer = JSON.parse(printed) as { status: number; body: Record<string, unknown> };
    expect(answer, printed).toMatchObject({ status: body === null ? 200 : 202 });
    return answer.body;
  };

  /** Replaces the translation by another one, as a workbench does. */
  const translate = (text: string): void => {
    const { items } = admin('/admin/parse/text-units?destination=text.json') as {
      items: Array<{ unit_id: string; source_text: string; translation: { task_id: string } }>;
    };
    const [unit] = items;
    admin('/admin/control/translation-task-update', {
      task_id: unit?.translation.task_id,
      status: 'translated',
      translation_results: [
        { unit_id: unit?.unit_id, source_text: unit?.source_text, translated_text: text },
      ],
    });
  };

  beforeAll(async () => {
    await create();
    await createVolumes(NAME, ['snapshot', 'data', 'exchange']);
  });

  afterAll(() => {
    if (cluster !== null) kubectlAnywhere(['delete', 'namespace', NAMESPACE, '--wait=false']);
  });

  it('has two channels: the worker runs by schedule, a pin publishes and rolls back, and a new release makes it stale', async () => {
    openUpstream(NAME, 'R1');
    helm(['upgrade', '--install', NAME, '-n', NAMESPACE], values());
    await space.untilServed(NAME);

    transcript.part('Two channels');
    const schedules = [
      {
        action: 'worker-run',
        args: ['provider=fixture', 'fixture_path=fixture.jsonl'],
        interval: '1m',
      },
    ];
    for (const object of [channel('official'), channel('localized', { schedules })])
      kubectl(['apply', '-f', '-'], JSON.stringify(object));
    await becomes('Ready', 'Unknown NothingPublished');
    show();

    transcript.part('The schedule translates');
    await becomes('Translated', 'True Complete');
    expect(statusOf('localized')?.localization).toMatchObject({ coverage: '100%', officialRelease: 'R1' });
    show();

    transcript.part('A pin publishes');
    pin('R1-first');
    await becomes('Ready', 'True Distributable');
    show();
    expect(statusOf('localized')).toMatchObject({
      release: { id: 'R1-first' },
      localization: { baseRelease: 'R1', stale: false },
    });
    await untilServed('R1-first', FIRST);
    await untilServed('R1', SOURCE);
    await untilStatus('/v1/distribution?channel=localized', 200);
    // The film was not copied: both releases have one object.
    expect(get(`${SERVER}/${CDN_HOST}/R1-first/film.mp4`, { range: 'bytes=0-6' })).toMatchObject({
      status: 206,
      text: 'slipway',
    });

    transcript.part('Another pin publishes again, and the first one rolls back');
    translate(SECOND);
    pin('R1-second');
    await becomes('Ready', 'True Distributable');
    await untilServed('R1-second', SECOND);
    pin('R1-first');
    await becomes('Ready', 'True Distributable');
    show();
    expect(statusOf('localized')).toMatchObject({
      release: { id: 'R1-first' },
      history: [{ id: 'R1-second' }, { id: 'R1-first', state: 'current' }],
    });
    await untilServed('R1-first', FIRST);

    transcript.part('Another pod has the same translations and releases');
    const before = space.podOf(NAME);
    kubectl(['delete', 'pod', before]);
    await eventually('another pod serves', () => {
      const now = space.podOf(NAME);
      return now !== '' && now !== before && readyPods(NAME) === 1;
    });
    await untilServed('R1-first', FIRST);
    await becomes('Ready', 'True Distributable');
    expect(statusOf('localized')?.localization).toMatchObject({ units: { total: 1, translated: 1 } });

    transcript.part('A new official release');
    openUpstream(NAME, 'R2');
    // The daemon of the new pod takes over when that of the old one has ended.
    await eventually('the daemon syncs', () => control(NAME, 'sync') === '202');
    await becomes('BaseCurrent', 'False BaseReleaseChanged');
    await becomes('Stalled', 'True PinOutdated');
    show();
    await untilStatus('/v1/distribution?channel=localized', 409);
    await untilStatus('/v1/distribution', 200);
    pin(null);
    await becomes('Stalled', 'False NotStalled');
  });
});
