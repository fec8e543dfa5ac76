import { describe, expect, it } from 'vitest';
import { buildReleaseChannelDefinition } from '../../../scripts/reference/custom-resource-definition.ts';
import { describeGaps } from '../../../src/operator/kubernetes/channel-definition.ts';
import {
  fitToSchema,
  OWN_STATUS,
  statusGaps,
  ValueSchemaRead,
  type ValueSchema,
} from '../../../src/operator/kubernetes/status-schema.ts';

/** The status of the definition in this repository, with some of its fields replaced; `undefined` removes one. */
function definition(changes: Record<string, unknown> = {}, required?: readonly string[]): ValueSchema {
  const { spec } = buildReleaseChannelDefinition() as {
    spec: { versions: Array<{ schema: { openAPIV3Schema: { properties: { status: unknown } } } }> };
  };
  const status = ValueSchemaRead.parse(spec.versions[0]?.schema.openAPIV3Schema.properties.status);
  const properties = ValueSchemaRead.parse(
    JSON.parse(JSON.stringify({ properties: { ...status.properties, ...changes } })),
  ).properties;
  return { ...status, properties, required: required ?? status.required };
}

const CONDITION = { type: 'Ready', status: 'True', reason: 'R', message: 'm', lastTransitionTime: 't' };
const STATUS = {
  observedGeneration: 1,
  observedAt: '2026-01-15T12:00:00Z',
  conditions: [
    { ...CONDITION, observedGeneration: 1 },
    { ...CONDITION, type: 'Healthy', observedGeneration: 1 },
  ],
  sync: { result: 'Failed', consecutiveFailures: 2, message: 'no' },
  servingPods: '1/1',
  pods: [],
  history: [],
};

const CONDITIONS = OWN_STATUS.properties?.['conditions'];
const SYNC = OWN_STATUS.properties?.['sync'];
const ITEM = CONDITIONS?.items;
/** As definitions once were: the types of conditions were an enumeration. */
const CLOSED_CONDITIONS = {
  ...CONDITIONS,
  items: {
    ...ITEM,
    properties: { ...ITEM?.properties, type: { type: 'string', enum: ['Ready', 'Stalled'] } },
  },
};

describe('a definition of another version', () => {
  it('of this version takes the whole status', () => {
    expect(statusGaps(definition())).toEqual([]);
    expect(fitToSchema(STATUS, definition())).toEqual(STATUS);
  });

  it('that has more fields takes the whole status', () => {
    const more = definition({ weather: { type: 'string' } });
    expect(statusGaps(more)).toEqual([]);
    expect(fitToSchema(STATUS, more)).toEqual(STATUS);
  });

  it('that keeps unknown fields takes the whole status', () => {
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    expect(statusGaps(open)).toEqual([]);
    expect(fitToSchema(STATUS, open)).toEqual(STATUS);
  });

  it.each([
    ['a field', { sync: undefined }, ['.status.sync'], { sync: undefined }],
    [
      'a field within another',
      { sync: { ...SYNC, properties: { ...SYNC?.properties, message: undefined } } },
      ['.status.sync.message'],
      { sync: { result: 'Failed', consecutiveFailures: 2 } },
    ],
    [
      'a value of an enumeration',
      {
        sync: {
          ...SYNC,
          properties: { ...SYNC?.properties, result: { type: 'string', enum: ['Changed', 'Unchanged'] } },
        },
      },
      ['.status.sync.result=Failed', '.status.sync.result=Cancelled'],
      { sync: { message: 'no', consecutiveFailures: 2 } },
    ],
    [
      'a type of a condition',
      { conditions: CLOSED_CONDITIONS },
      ['.status.conditions[].type (only some values)'],
      { conditions: [STATUS.conditions[0]] },
    ],
    [
      'room for a long text',
      { servingPods: { type: 'string', maxLength: 2 } },
      ['.status.servingPods (at most 2)'],
      { servingPods: '1/' },
    ],
    [
      'room for a long list',
      { conditions: { ...CONDITIONS, maxItems: 1 } },
      ['.status.conditions (at most 1)'],
      { conditions: [STATUS.conditions[0]] },
    ],
    [
      'a field with the same type',
      { servingPods: { type: 'integer' }, observedAt: undefined },
      ['.status.observedAt', '.status.servingPods'],
      undefined,
    ],
  ])('that lacks %s takes the rest', (_what, changes, gaps, kept) => {
    const older = definition(changes);
    expect(statusGaps(older)).toEqual(gaps);
    const expected = kept === undefined ? undefined : { ...STATUS, ...kept };
    expect(fitToSchema(STATUS, older)).toEqual(expected);
  });

  it('that demands a field this version does not write takes nothing, and the gap says so', () => {
    const newer = definition({ weather: { type: 'string' } }, ['weather']);
    expect(statusGaps(newer)).toEqual(['.status.weather (required)']);
    expect(fitToSchema(STATUS, newer)).toBeUndefined();
  });

  it('that always demands a field which this version can leave out names it as a gap', () => {
    expect(statusGaps(definition({}, ['edges']))).toEqual(['.status.edges (required)']);
  });

  it('without a status at all takes nothing', () => {
    expect(statusGaps(undefined)).toEqual(['.status']);
    expect(fitToSchema(STATUS, undefined)).toBeUndefined();
  });

  it('is described with its first gaps and what to apply', () => {
    const gaps = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `.status.${name}`);
    expect(describeGaps(gaps)).toMatch(/\.status\.e and 2 more: apply .*slipway\.dev_releasechannels\.yaml/);
  });
});
