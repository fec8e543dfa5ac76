import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  buildReleaseChannelDefinition,
  NAME_MAX,
} from '../../../../src/contract/crd/custom-resource-definition.ts';
import { scheduleIds } from '../../../../src/operator/reconcile/desired-schedules.ts';

const FILE = resolve(
  import.meta.dirname,
  '../../../../charts/slipway/files/slipway.dev_releasechannels.yaml',
);
/**
 * Members that a structural schema must not have. Source: Kubernetes documentation, "Specifying a structural schema".
 */
const FORBIDDEN = [
  '$ref',
  '$schema',
  'definitions',
  'anyOf',
  'oneOf',
  'const',
  'additionalProperties',
  'nullable',
];

describe('the definition of ReleaseChannel', () => {
  it('equals the one in the chart', () => {
    expect(parse(readFileSync(FILE, 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(buildReleaseChannelDefinition())),
    );
  });

  it('has only members that a structural schema may have', () => {
    const text = JSON.stringify(buildReleaseChannelDefinition());
    expect(FORBIDDEN.filter((keyword) => text.includes(`"${keyword}":`))).toEqual([]);
  });

  it('allows no name whose schedule ids a daemon would refuse', () => {
    const longest = { namespace: 'n'.repeat(63), name: 'm'.repeat(NAME_MAX) };
    for (const id of scheduleIds(longest)) expect(id).toMatch(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,159}$/);
  });

  it('stays when a chart is uninstalled', () => {
    expect(buildReleaseChannelDefinition()).toMatchObject({
      metadata: { annotations: { 'helm.sh/resource-policy': 'keep' } },
    });
  });
});
