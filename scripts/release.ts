/**
 * Builds a release of the commit that is checked out, into .release/VERSION: the image of this machine's platform, both charts, the
 * plain manifests, the documentation, the bill of materials, the provenance and SHA256SUMS. Images of other platforms that are in
 * the folder already, from another machine and the same commit, become part of it.
 *
 *   node scripts/release.ts --version VERSION [--registry REGISTRY] [--key FILE|keyless] [--node-image NAME]
 *     [--image slipway] [--docker-flags "--network=none"] [--out FOLDER]
 *
 * REGISTRY (host and path) is where `scripts/publish.ts` will put the release: the packaged chart and manifests then name the image
 * there. With a key, cosign signs SHA256SUMS. Exits with 1, and builds nothing, when the version may not be released.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { parseDocument } from 'yaml';
import { literalPattern } from '../src/platform/literal-pattern.ts';
import { provenanceOf } from './release/provenance.ts';
import { refuseRelease } from './release/refuse-release.ts';
import { kindOfFile } from './release/release-files.ts';
import { cosign, kubeTool, ROOT, run, sha256Of, signerOf } from './release/run-program.ts';

const CHARTS = ['charts/slipway', 'charts/slipway-crds'];
/** They name the image, beside the chart. */
const NAME_THE_IMAGE = [
  'manifests/install.yaml',
  'manifests/samples/demo-upstream.yaml',
  'deploy/compose/compose.yaml',
];
const DOCUMENTATION = [
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  'SECURITY.md',
  'docs',
  'charts/slipway/UPGRADING.md',
];

interface Plan {
  readonly version: string;
  readonly commit: string;
  readonly source: string;
  readonly nodeImage: string;
  /** Name of the image in the local daemon, and in the saved file. */
  readonly image: string;
  readonly dockerFlags: readonly string[];
  /** Registry and repository of the image, as charts and manifests name it; no registry if it is not known. */
  readonly registry: string;
  /** The files of the commit. */
  readonly tree: string;
  /** The folder of the release. */
  readonly out: string;
}

/** The files of this version in the folder; others there are none of its business. */
const filesOf = ({ out, version }: Plan): readonly string[] =>
  readdirSync(out)
    .filter((name) => kindOfFile(name, version) !== null)
    .toSorted();

const fileOf = (plan: Plan, rest: string): string => join(plan.out, `slipway-${plan.version}${rest}`);

/** Builds the image, and saves it and its bill of materials. */
function buildImage(plan: Plan): void {
  const image = `${plan.image}:${plan.version}`;
  const buildArguments = {
    NODE_IMAGE: plan.nodeImage,
    VERSION: plan.version,
    REVISION: plan.commit,
    SOURCE: plan.source,
  };
  // Its digest is a part of the provenance, and not every builder keeps the image that it begins with.
  run('sh', [
    '-c',
    'docker image inspect "$1" >/dev/null 2>&1 || docker pull --quiet "$1"',
    'sh',
    plan.nodeImage,
  ]);
  const args = Object.entries(buildArguments).map(([name, value]) => `--build-arg=${name}=${value}`);
  run('docker', ['build', ...plan.dockerFlags, ...args, `--tag=${image}`, plan.tree]);
  const platform = run('docker', ['image', 'inspect', '--format={{.Os}}-{{.Architecture}}', image]);
  run('docker', ['save', `--output=${fileOf(plan, `-${platform}.tar`)}`, image]);
  const container = run('docker', ['create', image]);
  try {
    run('docker', ['cp', `${container}:/app/sbom.cdx.json`, fileOf(plan, `-${platform}.cdx.json`)]);
  } finally {
    run('docker', ['rm', container]);
  }
}

/** Refuses images that another commit made. */
function checkImages(plan: Plan): readonly string[] {
  const images = filesOf(plan)
    .filter((name) => name.endsWith('.tar'))
    .map((name) => join(plan.out, name));
  for (const image of images) {
    const [{ Config = '' } = {}] = JSON.parse(run('tar', ['-xOf', image, 'manifest.json'])) as Array<{
      Config?: string;
    }>;
    const { config } = JSON.parse(run('tar', ['-xOf', image, Config])) as {
      readonly config: { readonly Labels?: Readonly<Record<string, string>> };
    };
    const revision = config.Labels?.['org.opencontainers.image.revision'];
    if (revision !== plan.commit) {
      throw new Error(
        `${image} is of commit ${revision ?? 'unknown'}, not of ${plan.commit}: delete it, or build it again`,
      );
    }
  }
  return images;
}

/** Lets the chart, the plain manifests and the compose file name the image where it will be. */
function nameImage(plan: Plan): void {
  if (plan.registry === '') return;
  const [host = '', ...path] = plan.registry.split('/');
  const repository = [...path, 'slipway'].join('/');
  const file = join(plan.tree, 'charts/slipway/values.yaml');
  const values = parseDocument(readFileSync(file, 'utf8'), { version: '1.1' });
  values.setIn(['image', 'registry'], host);
  values.setIn(['image', 'repository'], repository);
  writeFileSync(file, values.toString({ lineWidth: 0, flowCollectionPadding: false }));
  for (const name of NAME_THE_IMAGE) {
    const path = join(plan.tree, name);
    const text = readFileSync(path, 'utf8');
    const named = text.replaceAll(
      new RegExp(`(image: (?:\\$\\{SLIPWAY_IMAGE:-)?)slipway:${literalPattern(plan.version)}(?=[}\\n])`, 'g'),
      `$1${host}/${repository}:${plan.version}`,
    );
    if (named === text)
      throw new Error(`${name} does not name the image slipway:${plan.version}: correct it`);
    writeFileSync(path, named);
  }
}

/** Packs charts, manifests and documentation. The same commit gives the same archives, except those that Helm packs. */
function packFiles(plan: Plan): void {
  const helm = kubeTool('helm');
  for (const chart of CHARTS) run(helm, ['package', join(plan.tree, chart), '--destination', plan.out]);
  const time = run('git', ['log', '-1', '--format=%cI']);
  const pack = (name: string, paths: readonly string[]): void => {
    const same = ['--sort=name', `--mtime=${time}`, '--owner=0', '--group=0', '--numeric-owner'];
    run('tar', [
      '-c',
      ...same,
      '--use-compress-program=gzip -n',
      '-f',
      fileOf(plan, `-${name}.tar.gz`),
      '-C',
      plan.tree,
      ...paths,
    ]);
  };
  pack('manifests', ['manifests', 'deploy']);
  pack('docs', DOCUMENTATION);
}

/** Writes the statement of where the files come from, then the sums of all files. */
async function prove(plan: Plan, startedOn: string): Promise<void> {
  const files = new Map<string, string>();
  for (const name of filesOf(plan)) files.set(name, await sha256Of(join(plan.out, name)));
  const [digest = ''] = run('docker', [
    'image',
    'inspect',
    '--format={{join .RepoDigests " "}}',
    plan.nodeImage,
  ]).split(' ');
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: id } = process.env;
  const build = {
    ...plan,
    baseImage: {
      name: plan.nodeImage,
      ...(digest === '' ? {} : { digest: digest.replace(/^.*sha256:/, '') }),
    },
    lockFile: await sha256Of(join(plan.tree, 'package-lock.json')),
    builder:
      id === undefined
        ? `person:${userInfo().username}@${hostname()}`
        : `${server}/${repository}/actions/runs/${id}`,
    startedOn,
    finishedOn: new Date().toISOString(),
  };
  const statement = fileOf(plan, '.provenance.json');
  writeFileSync(statement, `${JSON.stringify(provenanceOf(build, files), null, 2)}\n`);
  files.set(basename(statement), await sha256Of(statement));
  const sums = [...files].map(([name, sum]) => `${sum}  ${name}\n`);
  writeFileSync(join(plan.out, 'SHA256SUMS'), sums.join(''));
}

function refusals(version: string): readonly string[] {
  const git = (...args: readonly string[]): string => run('git', args);
  const committed = (path: string): string => git('show', `HEAD:${path}`);
  return refuseRelease({
    version,
    packageFile: committed('package.json'),
    charts: Object.fromEntries(CHARTS.map((chart) => [chart, committed(`${chart}/Chart.yaml`)])),
    changelog: committed('CHANGELOG.md'),
    upgradeNotes: committed('charts/slipway/UPGRADING.md'),
    tags: git('tag', '--list'),
    status: git('status', '--porcelain'),
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      version: { type: 'string', default: '' },
      registry: { type: 'string', default: '' },
      key: { type: 'string', default: '' },
      'node-image': { type: 'string', default: 'node:26-slim' },
      image: { type: 'string', default: 'slipway' },
      'docker-flags': { type: 'string', default: '' },
      out: { type: 'string', default: '' },
    },
  });
  const { version } = values;
  const refused = refusals(version);
  if (refused.length > 0) {
    for (const reason of refused) console.error(`release refused: ${reason}`);
    process.exitCode = 1;
    return;
  }
  const startedOn = new Date().toISOString();
  const tree = mkdtempSync(join(tmpdir(), 'slipway-release-'));
  try {
    const plan: Plan = {
      version,
      commit: run('git', ['rev-parse', 'HEAD']),
      source: run('scripts/source-address.sh', []),
      nodeImage: values['node-image'],
      image: values.image,
      dockerFlags: values['docker-flags'].split(' ').filter(Boolean),
      registry: values.registry.replace(/\/+$/, ''),
      tree,
      out: resolve(ROOT, values.out === '' ? `.release/${version}` : values.out),
    };
    mkdirSync(plan.out, { recursive: true });
    // Images of other platforms stay, and what is not of this version; the rest is of an earlier attempt.
    for (const name of readdirSync(plan.out)) {
      if (kindOfFile(name, version) === 'common' || /^SHA256SUMS(?:\.sigstore\.json)?$/.test(name)) {
        rmSync(join(plan.out, name));
      }
    }
    // What is committed, and nothing that only this folder has.
    run('sh', ['-c', 'git archive HEAD | tar -x -C "$1"', 'sh', tree]);
    buildImage(plan);
    const images = checkImages(plan);
    nameImage(plan);
    packFiles(plan);
    await prove(plan, startedOn);
    if (values.key !== '') {
      const sums = join(plan.out, 'SHA256SUMS');
      cosign('sign-blob', ...signerOf(values.key), `--bundle=${sums}.sigstore.json`, sums);
    }
    console.log(`${plan.out}: release ${version} of commit ${plan.commit}, ${images.length} platform(s)`);
    if (values.registry === '')
      console.log('the charts name the image slipway: give REGISTRY to name that of a registry');
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

await main().catch((error: unknown) => {
  console.error(`release: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
