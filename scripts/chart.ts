/**
 * Writes the generated files of the charts: of both the values, their schema and the table of the README, from
 * scripts/chart/values-schema.ts; of charts/slipway-crds also the definition, its roles and Chart.yaml, from charts/slipway. With `--check`
 * it says what differs and exits with 1.
 *
 *   node scripts/chart.ts [--check]
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parse, stringify } from 'yaml';
import type { z } from 'zod';
import { renderPlainSchema, renderValuesSchema, renderValuesYaml, valueRows } from './chart/values-files.ts';
import { chartValuesSchema, crdsValuesSchema } from './chart/values-schema.ts';
import { table } from './reference/markdown.ts';

const CHARTS = resolve(import.meta.dirname, '../charts');
const DEFINITION = 'files/slipway.dev_releasechannels.yaml';
const ROLES = 'templates/aggregated-roles.yaml';
const TABLE = /(<!-- values -->\n)[\s\S]*?(<!-- end of values -->)/;

function readText(path: string): string {
  return readFileSync(join(CHARTS, path), 'utf8');
}

function renderReadme(path: string, schema: z.ZodType): string {
  const text = readText(path);
  if (!TABLE.test(text)) throw new Error(`charts/${path} has lost the marks of its table`);
  const rows = table(['Value', 'Default', 'Description'], valueRows(schema));
  return text.replace(TABLE, (_, begin: string, end: string) => `${begin}\n${rows}\n\n${end}`);
}

/** Both charts have one version, so that the numbers say which belong together. */
function renderCrdsChart(): string {
  const {
    type: _type,
    keywords: _keywords,
    annotations,
    ...chart
  } = parse(readText('slipway/Chart.yaml')) as {
    readonly type: string;
    readonly keywords: unknown;
    readonly annotations: Readonly<Record<string, string>>;
  };
  const shared = Object.entries(annotations).filter(([name]) =>
    /\/(?:license|crds|crdsExamples)$/.test(name),
  );
  return stringify(
    {
      ...chart,
      name: 'slipway-crds',
      description: 'The CustomResourceDefinition of ReleaseChannel, for the chart slipway.',
      annotations: Object.fromEntries(shared),
    },
    { lineWidth: 0 },
  );
}

/** The roles of the other chart, with the values and the helpers of this one. */
function renderRoles(): string {
  return readText(`slipway/${ROLES}`)
    .replace(/and \$\.Values\.crds\.install \((.*?)\)/, '$1')
    .replaceAll('.Values.crds.', '.Values.')
    .replaceAll('"slipway.', '"slipway-crds.');
}

function main(check: boolean): number {
  const files = [
    ['slipway/values.yaml', renderValuesYaml(chartValuesSchema)],
    ['slipway/values.schema.json', renderValuesSchema()],
    ['slipway/README.md', renderReadme('slipway/README.md', chartValuesSchema)],
    ['slipway-crds/Chart.yaml', renderCrdsChart()],
    [`slipway-crds/${DEFINITION}`, readText(`slipway/${DEFINITION}`)],
    [`slipway-crds/${ROLES}`, renderRoles()],
    ['slipway-crds/values.yaml', renderValuesYaml(crdsValuesSchema)],
    [
      'slipway-crds/values.schema.json',
      renderPlainSchema(crdsValuesSchema, 'Values of the chart slipway-crds'),
    ],
    ['slipway-crds/README.md', renderReadme('slipway-crds/README.md', crdsValuesSchema)],
  ] as const;
  const stale = files.filter(([name, text]) => {
    const path = join(CHARTS, name);
    return !existsSync(path) || readFileSync(path, 'utf8') !== text;
  });
  if (check) {
    for (const [name] of stale) console.error(`charts/${name} differs from its sources`);
    if (stale.length > 0) console.error('run: make docs');
    return stale.length > 0 ? 1 : 0;
  }
  for (const [name, text] of stale) writeFileSync(join(CHARTS, name), text);
  console.log(`charts: ${files.length} files, ${stale.length} written`);
  return 0;
}

process.exitCode = main(process.argv.includes('--check'));
