import {
  CHANNEL_REASONS,
  CONDITION_TYPES,
  LOCALIZED_CONDITION_TYPES,
} from '../../src/contract/crd/channel-reasons.ts';
import { buildReleaseChannelDefinition } from './custom-resource-definition.ts';
import { table } from './markdown.ts';

/** The part of a structural schema that the page shows. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly 'x-kubernetes-validations'?: ReadonlyArray<{ readonly rule: string; readonly message: string }>;
}

/** docs/reference/releasechannel.md */
export function renderReleaseChannelPage(): string {
  const { schema, columns } = read();
  const { spec = {}, status = {} } = schema.properties ?? {};
  const named = (rows: Readonly<Record<string, string>>): string[][] =>
    Object.entries(rows).map(([name, text]) => [`\`${name}\``, text]);
  return `# ReleaseChannel

Generated from the contract by \`make docs\`; do not edit. The guide is
[release channels](../how-to/release-channels.md).

\`slipway.dev/v1alpha1\`, namespaced, short name \`relch\`. Columns of \`kubectl get\`: ${columns.join(', ')}.

## Spec

${table(['Field', 'Type', 'Required', 'Meaning'], fieldRows(spec, 'spec', true))}

The API server rejects objects that break one of these rules (\`x-kubernetes-validations\`):

${table(['Where', 'Rule', 'Message'], ruleRows(schema, ''))}

## Status

${table(['Field', 'Type', 'Always', 'Meaning'], fieldRows(status, 'status', true))}

## Conditions

${table(['Type', 'True means'], named(CONDITION_TYPES))}

An object with \`channel: localized\` also has these. They say how far translations are, and do not change \`Ready\`.

${table(['Type', 'True means'], named(LOCALIZED_CONDITION_TYPES))}

A reason is either one of the [verdict](reasons.md), unchanged, or one of the operator:

${table(['Reason', 'Meaning, and what to do'], named(CHANNEL_REASONS))}
`;
}

function read(): { readonly schema: Schema; readonly columns: readonly string[] } {
  const definition = buildReleaseChannelDefinition() as unknown as {
    readonly spec: {
      readonly versions: ReadonlyArray<{
        readonly schema: { readonly openAPIV3Schema: Schema };
        readonly additionalPrinterColumns: ReadonlyArray<{
          readonly name: string;
          readonly priority?: number;
        }>;
      }>;
    };
  };
  const [version] = definition.spec.versions;
  if (version === undefined) throw new Error('the definition has no version');
  const columns = version.additionalPrinterColumns.map(({ name, priority }) =>
    priority === 1 ? `${name} (\`-o wide\`)` : name,
  );
  return { schema: version.schema.openAPIV3Schema, columns };
}

function fieldRows(schema: Schema, path: string, required: boolean): string[][] {
  const children = schema.properties ?? schema.items?.properties;
  const needed = schema.required ?? schema.items?.required ?? [];
  const below = schema.items === undefined ? path : `${path}[]`;
  const own = [[`\`${path}\``, typeOf(schema), required ? 'yes' : 'no', schema.description ?? '']];
  const rows = Object.entries(children ?? {}).flatMap(([name, child]) =>
    fieldRows(child, `${below}.${name}`, needed.includes(name)),
  );
  return path.includes('.') || children === undefined ? [...own, ...rows] : rows;
}

function ruleRows(schema: Schema, path: string): string[][] {
  const own = (schema['x-kubernetes-validations'] ?? []).map(({ rule, message }) => [
    path === '' ? 'the object' : `\`${path}\``,
    `\`${rule}\``,
    message,
  ]);
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    ruleRows(child, path === '' ? name : `${path}.${name}`),
  );
  return [...own, ...below];
}

function typeOf(schema: Schema): string {
  const base = schema.type === 'array' ? `list of ${schema.items?.type ?? 'values'}` : (schema.type ?? '');
  const values = schema.enum === undefined ? '' : `: ${schema.enum.map((each) => `\`${each}\``).join(', ')}`;
  const preset = schema.default === undefined ? '' : `; default \`${JSON.stringify(schema.default)}\``;
  return `${base}${values}${preset}`;
}
