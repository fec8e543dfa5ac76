/**
 * Publishes what `scripts/release.ts` has built: one image for all platforms, both charts, and with a key their signatures and
 * attestations (provenance, and the bill of materials of each platform's image).
 *
 *   node scripts/publish.ts --version VERSION --registry REGISTRY [--key FILE|keyless] [--plain-http] [--out FOLDER]
 *
 * The image becomes REGISTRY/slipway:VERSION, the charts REGISTRY/charts/slipway and REGISTRY/charts/slipway-crds. Prints each with
 * its digest. Only what SHA256SUMS lists is published, and no version that is there with another content. Log in first: docker login, helm registry login.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { kindOfFile } from './release/release-files.ts';
import { cosign, kubeTool, ROOT, run, sha256Of, signerOf } from './release/run-program.ts';

interface Published {
  /** Registry, repository and digest. */
  readonly reference: string;
  /** The bill of materials, of an image of one platform. */
  readonly materials?: string;
}

/** Checks every file of the release, and returns the sums by name: only these are published. */
async function checkSums(folder: string): Promise<ReadonlyMap<string, string>> {
  if (!existsSync(join(folder, 'SHA256SUMS')))
    throw new Error(`${folder} has no release: run make release first`);
  const sums = new Map<string, string>();
  for (const line of readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim().split('\n')) {
    const [sum = '', name = ''] = line.split('  ');
    if ((await sha256Of(join(folder, name))) !== sum) {
      throw new Error(`${join(folder, name)} differs from SHA256SUMS: run make release again`);
    }
    sums.set(name, sum);
  }
  return sums;
}

/**
 * Whether this content is published already: a version never changes.
 *
 * @param parts digests of what it consists of
 * @throws Error when the version has other content
 */
function isPublished(reference: string, parts: readonly string[], insecure: readonly string[]): boolean {
  const crane = spawnSync(kubeTool('crane'), ['manifest', reference, ...insecure], { encoding: 'utf8' });
  // Registries have several answers for what does not exist. A push says it when one cannot be reached.
  if (crane.status !== 0) return false;
  const { manifests, layers = [] } = JSON.parse(crane.stdout) as {
    readonly manifests?: ReadonlyArray<{ readonly digest: string }>;
    readonly layers?: ReadonlyArray<{ readonly digest: string }>;
  };
  const there = (manifests ?? layers).map(({ digest }) => digest);
  if (there.toSorted().join() === parts.toSorted().join()) return true;
  throw new Error(
    `${reference} is published with another content, and a version never changes: choose the next one`,
  );
}

/** A part of the release: where it goes, and the digests of its content. */
interface Part {
  readonly reference: string;
  readonly files: readonly string[];
  readonly digests: readonly string[];
}

/** Pushes the image of each platform, and the index that leads to them. */
function pushImages({ reference: index, files }: Part, insecure: readonly string[]): Published[] {
  const crane = kubeTool('crane');
  const pushed = files.map((image) => {
    const platform = basename(image).replace(/^.*-linux-(.*)\.tar$/, '$1');
    const reference = run(crane, ['push', image, `${index}-${platform}`, ...insecure]);
    return { reference, materials: image.replace(/\.tar$/, '.cdx.json') };
  });
  const manifests = pushed.flatMap(({ reference }) => ['-m', reference]);
  const appended = run(crane, ['index', 'append', ...manifests, '-t', index, ...insecure]);
  return [{ reference: appended.split('\n').at(-1) ?? '' }, ...pushed];
}

/** Pushes a chart that is not there yet: Helm would give the same content another digest. */
function pushChart({ reference, files, digests }: Part, insecure: readonly string[]): Published {
  const folder = reference.replace(/\/[^/]*$/, '');
  const plain = insecure.length > 0 ? ['--plain-http'] : [];
  if (!isPublished(reference, digests, insecure)) {
    run(kubeTool('helm'), ['push', ...files, `oci://${folder}`, ...plain]);
  }
  // Helm writes a plus sign of a version as an underscore; a version here has none.
  const digest = run(kubeTool('crane'), ['digest', reference, ...insecure]);
  return { reference: `${reference.replace(/:[^:]*$/, '')}@${digest}` };
}

/** Signs what was published, and attests how it was built. */
function sign(published: readonly Published[], statement: string, signer: readonly string[]): void {
  const directory = mkdtempSync(join(tmpdir(), 'slipway-publish-'));
  try {
    const predicate = join(directory, 'predicate.json');
    const { predicate: how } = JSON.parse(readFileSync(statement, 'utf8')) as { readonly predicate: object };
    writeFileSync(predicate, JSON.stringify(how));
    for (const { reference, materials } of published) {
      cosign('sign', ...signer, reference);
      cosign('attest', ...signer, '--type=slsaprovenance1', `--predicate=${predicate}`, reference);
      if (materials !== undefined) {
        cosign('attest', ...signer, '--type=cyclonedx', `--predicate=${materials}`, reference);
      }
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      version: { type: 'string', default: '' },
      registry: { type: 'string', default: '' },
      key: { type: 'string', default: '' },
      'plain-http': { type: 'boolean', default: false },
      out: { type: 'string', default: '' },
    },
  });
  const { version, registry, key } = values;
  if (version === '' || registry === '') {
    throw new Error('name VERSION, and REGISTRY such as ghcr.io/OWNER');
  }
  const folder = resolve(ROOT, values.out === '' ? `.release/${version}` : values.out);
  const insecure = values['plain-http'] ? ['--insecure'] : [];
  const sums = await checkSums(folder);
  const listed = (name: string): string => {
    if (sums.has(name)) return join(folder, name);
    throw new Error(`${join(folder, 'SHA256SUMS')} does not list ${name}: run make release again`);
  };
  const statement = listed(`slipway-${version}.provenance.json`);
  const images = [...sums.keys()].filter(
    (name) => kindOfFile(name, version) === 'platform' && name.endsWith('.tar'),
  );
  for (const name of images) listed(name.replace(/\.tar$/, '.cdx.json'));
  const files = images.map((name) => join(folder, name));
  if (files.length === 0) throw new Error(`${folder}: SHA256SUMS has no image; run make release`);
  const digests = files.map((file) => run(kubeTool('crane'), ['digest', '--tarball', file]));
  const image: Part = { reference: `${registry}/slipway:${version}`, files, digests };
  const charts = ['slipway', 'slipway-crds'].map((name): Part => {
    const file = `${name}-${version}.tgz`;
    const reference = `${registry}/charts/${name}:${version}`;
    return { reference, files: [listed(file)], digests: [`sha256:${sums.get(file)}`] };
  });
  // All before anything is pushed.
  for (const part of [image, ...charts]) isPublished(part.reference, part.digests, insecure);
  const published = [...pushImages(image, insecure), ...charts.map((chart) => pushChart(chart, insecure))];
  if (key !== '') {
    const signer = [...signerOf(key), ...(insecure.length > 0 ? ['--allow-http-registry'] : [])];
    sign(published, statement, signer);
  }
  for (const { reference } of published) console.log(reference);
}

await main().catch((error: unknown) => {
  console.error(`publish: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
