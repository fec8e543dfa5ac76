import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { CONTROL_ACTIONS } from '../../../src/contract/actions/actions.ts';
import {
  buildReleaseChannelDefinition,
  NAME_MAX,
} from '../../../scripts/reference/custom-resource-definition.ts';
import { durationSeconds } from '../../../src/contract/crd/duration.ts';
import { renderComponents } from '../../../scripts/reference/openapi-components.ts';
import { buildOpenApi, renderOpenApiYaml } from '../../../scripts/reference/openapi.ts';
import { listOperations } from '../../../src/contract/operations/operations.ts';
import { STRING_MAP_PATTERN } from '../../../src/contract/schemas/parameters.ts';
import { scheduleIds } from '../../../src/operator/reconcile/desired-schedules.ts';

describe('a nullable schema of a component', () => {
  it('is replaced by what it names', () => {
    const Named = z.object({ text: z.string() });
    const Holder = z.object({ named: Named.nullable() });
    const { Holder: rendered } = renderComponents(
      new Map<string, z.ZodType>([
        ['Named', Named],
        ['Holder', Holder],
      ]),
    );
    expect(rendered).toMatchObject({ properties: { named: { type: 'object', nullable: true } } });
  });

  it('that contains itself is refused by its name', () => {
    const Chain = z.object({
      get next() {
        return Chain.nullable();
      },
    });
    expect(() => renderComponents(new Map<string, z.ZodType>([['Chain', Chain]]))).toThrow(
      'the component Chain contains itself',
    );
  });
});

const FILE = resolve(import.meta.dirname, '../../../charts/slipway/files/slipway.dev_releasechannels.yaml');
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

describe('a duration', () => {
  it.each([
    ['15m', 900],
    ['1h30m', 5400],
    ['1h1m1s', 3661],
    ['24h', 86_400],
    ['0s', 0],
  ])('%s has %i seconds', (text, seconds) => {
    expect(durationSeconds(text)).toBe(seconds);
  });

  it.each(['', 'm', '15', '15 m', '1m1h', '1d', '-1m', '1.5h', '15m '])('is not %j', (text) => {
    expect(durationSeconds(text)).toBeNull();
  });
});

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
}

interface Operation {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean };
  readonly responses: Readonly<Record<string, object>>;
}

interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly security: readonly unknown[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly schemas: Readonly<
      Record<string, { readonly properties?: Record<string, Record<string, unknown>> }>
    >;
  };
}

const document = parse(renderOpenApiYaml()) as Document;

function parameter(path: string, name: string): Parameter | undefined {
  return document.paths[path]?.['get']?.parameters?.find((each) => each.name === name);
}

/** Every schema of an integer below a value, with its pointer. */
function integersIn(
  value: unknown,
  pointer: string,
): ReadonlyArray<{ readonly pointer: string; readonly format: unknown }> {
  if (typeof value !== 'object' || value === null) return [];
  const { type, format } = value as { readonly type?: unknown; readonly format?: unknown };
  return [
    ...(type === 'integer' ? [{ pointer, format }] : []),
    ...Object.entries(value).flatMap(([key, each]) =>
      integersIn(each, `${pointer}/${key.replaceAll('/', '~1')}`),
    ),
  ];
}

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.0.3 of interface version 0.1.0', () => {
    expect(document.openapi).toBe('3.0.3');
    expect(document.info.version).toBe('0.1.0');
  });

  it('is the same in YAML, every time', () => {
    expect(document).toEqual(JSON.parse(JSON.stringify(buildOpenApi())));
    expect(renderOpenApiYaml()).toBe(renderOpenApiYaml());
  });

  it('has exactly the operations of the table, with their statuses', () => {
    const expected = listOperations().map(({ id, method, path, answers }) => [
      `${method} ${path} ${id}`,
      // Every operation refuses a head that is too large.
      [...Object.keys(answers), '414', '431'].sort(),
    ]);
    const actual = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, responses }]) => [
        `${method} ${path} ${operationId}`,
        Object.keys(responses).sort(),
      ]),
    );
    expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(expected));
    expect(actual).toHaveLength(expected.length);
  });

  it('gives every integer of a body and an answer a format, because generated clients read 32 bits without one', () => {
    const found = integersIn(document, '');
    const isQuery = (pointer: string): boolean => /^\/paths\/.*\/parameters\/[0-9]+\/schema$/.test(pointer);
    expect(found.length).toBeGreaterThan(200);
    expect(found.filter(({ format, pointer }) => format !== 'int64' && !isQuery(pointer))).toEqual([]);
    // The interface calls these plain integers.
    const plain = document.paths['/v1/resources']?.['get']?.parameters?.map(({ schema }) => schema['format']);
    expect(plain).toEqual([undefined, undefined]);
  });

  it('has no alternative that is only null, and any media type for files', () => {
    expect(renderOpenApiYaml()).not.toContain('anyOf');
    const { properties = {} } = document.components.schemas['CurrentRelease'] ?? {};
    expect(properties['release']).toMatchObject({ type: 'object', nullable: true });
    const answers = document.paths['/{cdn_host}/{path}']?.['get']?.responses;
    for (const status of ['200', '206']) {
      expect(answers?.[status]).toMatchObject({
        content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
      });
    }
  });

  it('declares two schemes, each of which is sufficient, and leaves only the console open', () => {
    expect(document.security).toEqual([{ bearerToken: [] }, { queryToken: [] }]);
    expect(document.components.securitySchemes).toMatchObject({
      bearerToken: { type: 'http', scheme: 'bearer' },
      queryToken: { type: 'apiKey', in: 'query', name: 'svc_token' },
    });
    const overriding = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .filter(({ security }) => security !== undefined);
    expect(overriding.map(({ operationId, security }) => [operationId, security])).toEqual([
      ['getDashboard', []],
    ]);
  });

  it('gives no path parameter a default', () => {
    const inPath = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .flatMap(({ parameters = [] }) => parameters.filter((each) => each.in === 'path'));
    expect(inPath.length).toBeGreaterThan(4);
    for (const { schema } of inPath) expect(schema).not.toHaveProperty('default');
  });

  it('carries the bounds of parameters', () => {
    expect(parameter('/v1/resources', 'limit')?.schema).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      default: 100,
    });
    expect(parameter('/v1/resources', 'offset')?.schema).toEqual({
      type: 'integer',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
    });
    expect(parameter('/admin/logs', 'tail')?.schema).toMatchObject({
      type: 'integer',
      minimum: 1,
      maximum: 2000,
    });
    expect(parameter('/admin/parse/text-units', 'path_id')?.schema).toEqual({
      type: 'integer',
      format: 'int64',
    });
    expect(parameter('/admin/translation/memory/query', 'limit')?.schema).toMatchObject({
      format: 'int64',
      default: 100,
    });
    expect(parameter('/admin/translation/memory/query', 'source_context')?.schema).toMatchObject({
      type: 'string',
      maxLength: 16_384,
      pattern: STRING_MAP_PATTERN,
    });
    const unbounded = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .flatMap(({ operationId, parameters = [] }) => parameters.map((each) => ({ operationId, ...each })))
      .filter(({ in: place, schema }) => {
        const { type, maxLength, enum: words } = schema ?? {};
        return place !== 'header' && type === 'string' && maxLength === undefined && words === undefined;
      });
    expect(unbounded).toEqual([]);
    expect(parameter('/admin/translation/memory/query', 'source_text')?.required).toBe(true);
    expect(parameter('/admin/schedules', 'enabled')?.schema).toEqual({ type: 'boolean' });
    expect(parameter('/v1/distribution', 'channel')).toMatchObject({
      required: false,
      schema: { type: 'string', enum: ['official', 'localized'], default: 'official' },
    });
  });

  it('carries the bounds of the control body and the allowlist', () => {
    const control = document.paths['/admin/control/{action}']?.['post'];
    expect(control?.requestBody?.required).toBe(false);
    expect(control?.parameters?.[0]?.schema['enum']).toEqual(CONTROL_ACTIONS);
    const fields = document.components.schemas['ControlBody'];
    expect(fields).toMatchObject({ additionalProperties: false });
    expect(fields?.properties).toMatchObject({
      concurrency: { type: 'integer', format: 'int64', minimum: 1, maximum: 256 },
      retry_backoff_seconds: { format: 'int64', minimum: 0 },
      priority: { type: 'integer', format: 'int64' },
      review_status: { enum: ['draft', 'approved', 'deprecated', 'rejected'] },
      glossary_override: {
        additionalProperties: false,
        required: ['qa_identity', 'reviewer', 'reason', 'provenance', 'confirmed_unix_seconds'],
      },
      source: { additionalProperties: false, required: ['source_kind', 'observed_unix_seconds'] },
    });
  });
});
