import { isMap, isScalar, Document, type Scalar, type YAMLMap } from 'yaml';
import { z } from 'zod';
import { daemonConfigurationSchema } from '../../src/daemon/settings/config.ts';
import { UPSTREAM_KINDS } from '../../src/upstream/upstream-config.ts';
import { serverConfigurationSchema } from '../../src/server/config/config.ts';
import { operatorConfigurationSchema } from '../../src/operator/config.ts';
import { chartValuesSchema } from './values-schema.ts';

/** The part of JSON Schema that is read and changed here. */
interface SchemaNode {
  $schema?: string;
  description?: string;
  default?: unknown;
  required?: string[];
  properties?: Record<string, SchemaNode>;
  anyOf?: SchemaNode[];
  enum?: unknown[];
  type?: string;
  pattern?: string;
  [keyword: string]: unknown;
}

/** Settings that the chart sets itself; a value for one of them would be overwritten. */
const SET_BY_CHART = {
  server: [
    'metrics',
    'publicBaseUrl',
    'snapshot',
    'daemon.url',
    'daemon.socketPath',
    'daemon.tokenFile',
    'attestation',
    'admin',
  ],
  daemon: [
    'listen',
    'metrics',
    'tokenFile',
    'requireToken',
    'snapshot.root',
    'data',
    'attestation.signingKeyFiles',
    'exchange',
    'supervised',
  ],
  operator: ['kubernetes', 'probes', 'metrics', 'watch.namespaces', 'election.namespace', 'election.name'],
} as const;

/** More of these for the daemon of an edge, which follows the origin of its release. */
const SET_FOR_EDGES = [
  'localized',
  'upstream.kind',
  'upstream.directory',
  'upstream.manifest',
  'upstream.serverInfo',
  'upstream.bundle',
  'upstream.oci',
  'upstream.slipway.url',
  'upstream.slipway.trustedKeys',
  'upstream.slipway.tokenFile',
] as const;

/** values.schema.json: what Helm holds values against, the settings of the programs included. */
export function renderValuesSchema(): string {
  const schema = jsonSchema(chartValuesSchema);
  setConfig(schema, ['server'], settingsOf(serverConfigurationSchema, SET_BY_CHART.server));
  setConfig(schema, ['daemon'], settingsOf(daemonConfigurationSchema, SET_BY_CHART.daemon));
  requireUpstream(schema);
  setConfig(schema, ['edge', 'server'], { allOf: [{ $ref: '#/properties/server/properties/config' }] });
  const ofEdges = [...SET_BY_CHART.daemon, ...SET_FOR_EDGES];
  setConfig(schema, ['edge', 'daemon'], settingsOf(daemonConfigurationSchema, ofEdges));
  setConfig(schema, ['operator'], settingsOf(operatorConfigurationSchema, SET_BY_CHART.operator));
  // Helm takes defaults from values.yaml only.
  return `${JSON.stringify({ ...withoutKeyword(schema, 'default'), title: 'Values of the chart slipway' }, null, 2)}\n`;
}

/** values.schema.json of values without settings of a program. */
export function renderPlainSchema(schema: z.ZodType, title: string): string {
  return `${JSON.stringify({ ...withoutKeyword(jsonSchema(schema), 'default'), title }, null, 2)}\n`;
}

/** values.yaml: every default with its description above it. */
export function renderValuesYaml(schema: z.ZodType): string {
  // Helm reads YAML 1.1, where a plain off is false.
  const document = new Document(schema.parse({}), { schema: 'yaml-1.1' });
  document.commentBefore =
    ' Values of the chart, with their defaults. Generated from scripts/chart/values-schema.ts by `make docs`; do not edit.';
  comment(document.contents as YAMLMap, jsonSchema(schema), 0);
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** The table of the chart's README: value, default, description. */
export function valueRows(schema: z.ZodType): string[][] {
  return rowsOf(jsonSchema(schema), schema.parse({}), []);
}

function jsonSchema(schema: z.ZodType): SchemaNode {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-7', unrepresentable: 'any' }) as SchemaNode;
}

/** The settings of a program that are values. */
function settingsOf(configuration: z.ZodType, setByChart: readonly string[]): SchemaNode {
  const settings = jsonSchema(configuration);
  for (const path of setByChart) removePath(settings, path.split('.'));
  // A setting that the program requires may be one that the chart sets.
  const rest = withoutKeyword(settings, 'required');
  delete rest.$schema;
  delete rest.description;
  return rest;
}

/** @param path the names of the value that has `config` */
function setConfig(schema: SchemaNode, path: readonly string[], settings: SchemaNode): void {
  let node: SchemaNode | undefined = schema;
  for (const name of [...path, 'config']) node = node?.properties?.[name];
  if (node?.description === undefined) throw new Error(`the values have no ${path.join('.')}.config`);
  const { description } = node;
  for (const keyword of Object.keys(node)) delete node[keyword];
  Object.assign(node, { description, ...settings });
}

/** Adds what no type says: a kind of upstream needs its section. */
function requireUpstream(schema: SchemaNode): void {
  const upstream = schema.properties?.['daemon']?.properties?.['config']?.properties?.['upstream'];
  if (upstream === undefined) throw new Error('the values have no daemon.config.upstream');
  upstream['allOf'] = Object.entries(UPSTREAM_KINDS).map(([kind, { section, setting }]) => ({
    if: { required: ['kind'], properties: { kind: { const: kind } } },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: {
      required: [section],
      properties: {
        [section]: { required: [setting], properties: { [setting]: { type: 'string', minLength: 1 } } },
      },
    },
  }));
}

function removePath(node: SchemaNode, [name = '', ...rest]: readonly string[]): void {
  const inner = node.properties?.[name];
  if (inner === undefined) throw new Error(`the configuration has no ${name}`);
  if (rest.length > 0) removePath(inner, rest);
  else delete node.properties?.[name];
}

/** A copy without one keyword, at every depth. */
function withoutKeyword(node: SchemaNode, keyword: 'required' | 'default'): SchemaNode {
  const copy = { ...node };
  delete copy[keyword];
  // Helm's regular expressions are those of Go, which look neither ahead nor behind; the program checks again.
  if (/\(\?[=!<]/.test(copy.pattern ?? '')) delete copy.pattern;
  if (copy.properties !== undefined) {
    copy.properties = Object.fromEntries(
      Object.entries(copy.properties).map(([name, inner]) => [name, withoutKeyword(inner, keyword)]),
    );
  }
  return copy;
}

function comment(map: YAMLMap, schema: SchemaNode, depth: number): void {
  for (const pair of map.items) {
    const key = pair.key as Scalar<string>;
    const node = schema.properties?.[key.value];
    if (node === undefined || !isScalar(key)) continue;
    if (depth === 0) key.spaceBefore = true;
    const text = [node.description, choices(node)].filter(Boolean).join(' ');
    if (text !== '') key.commentBefore = ` ${text}`;
    if (isMap(pair.value) && node.properties !== undefined) comment(pair.value, node, depth + 1);
  }
}

function choices({ enum: values, description = '' }: SchemaNode): string {
  if (values === undefined || values.every((value) => description.includes(`${String(value)}:`))) return '';
  return `One of: ${values.join(', ')}.`;
}

function rowsOf(schema: SchemaNode, values: unknown, path: readonly string[]): string[][] {
  const { properties } = schema;
  const known = (values ?? {}) as Record<string, unknown>;
  // An object whose fields have no defaults of their own is one value.
  if (properties === undefined || Object.keys(properties).some((name) => !Object.hasOwn(known, name))) {
    const text = [schema.description, choices(schema)].filter(Boolean).join(' ');
    return [[`\`${path.join('.')}\``, `\`${JSON.stringify(values)}\``, text]];
  }
  return Object.entries(properties).flatMap(([name, inner]) => rowsOf(inner, known[name], [...path, name]));
}
