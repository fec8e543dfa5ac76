import { parse } from 'yaml';

/** What decides whether a version may be released, as text of the commit and of git. */
export interface ReleaseFacts {
  readonly version: string;
  /** package.json. */
  readonly packageFile: string;
  /** Chart.yaml of each chart, by the path of its folder. */
  readonly charts: Readonly<Record<string, string>>;
  readonly changelog: string;
  /** The upgrade notes of the chart. */
  readonly upgradeNotes: string;
  /** Output of `git tag --list`. */
  readonly tags: string;
  /** Output of `git status --porcelain`. */
  readonly status: string;
}

/** Semantic Versioning 2.0.0 without build metadata, which no tag of an image can have. */
const VERSION =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*))*)?$/;

/** Every reason why this version cannot be released from this commit, with what to do; empty if it can. */
export function refuseRelease(facts: ReleaseFacts): readonly string[] {
  const { version } = facts;
  if (!VERSION.test(version)) {
    return [`VERSION=${version} is not a semantic version such as 0.1.0 or 0.2.0-rc.1`];
  }
  const found: string[] = [];
  const { version: packaged } = JSON.parse(facts.packageFile) as { readonly version: string };
  if (packaged !== version) {
    found.push(
      `package.json has version ${packaged}: run npm version ${version} --no-git-tag-version, or release ${packaged}`,
    );
  }
  for (const [folder, text] of Object.entries(facts.charts)) {
    const chart = parse(text) as Readonly<Record<string, unknown>>;
    for (const field of ['version', 'appVersion']) {
      if (chart[field] === version) continue;
      found.push(
        `${folder}/Chart.yaml has ${field} ${String(chart[field])}: set it to ${version} in charts/slipway and run make docs manifests`,
      );
    }
  }
  const heading = version.replaceAll('.', String.raw`\.`);
  if (!new RegExp(String.raw`^## \[${heading}\] - \d{4}-\d{2}-\d{2}$`, 'm').test(facts.changelog)) {
    found.push(
      `CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD": describe what changes for users, and set the date`,
    );
  }
  if (!new RegExp(String.raw`^## ${heading}$`, 'm').test(facts.upgradeNotes)) {
    found.push(`charts/slipway/UPGRADING.md has no section ${version}: say what an upgrade to it needs`);
  }
  if (facts.tags.split('\n').includes(`v${version}`)) {
    found.push(`the tag v${version} exists, and a release never changes: choose the next version`);
  }
  if (facts.status.trim() !== '') {
    found.push(`the working tree has uncommitted changes; commit or remove them:\n${facts.status.trimEnd()}`);
  }
  return found;
}
