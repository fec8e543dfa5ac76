import { PUBLIC_OPERATIONS } from '../../../contract/operations/operations-public.ts';
import type { LauncherGameConfig } from '../../../contract/schemas/answers/launcher.ts';
import { createGlobFilter } from '../../../platform/config/glob-filter.ts';
import type { ServerConfiguration } from '../../config/config.ts';
import { jsonAnswer, jsonHeaders, NO_STORE, type Answer } from '../../http/answer.ts';
import { requireCurrent, type CurrentRelease } from '../../http/not-distributable.ts';
import { publicRoute, type PublicRoute } from '../../http/public-route.ts';
import type { PublicParts } from '../public-parts.ts';
import { renderHealth } from '../release/release-body.ts';
import { chosenChannel } from '../../serving/channel-choice.ts';
import type { ServedRelease } from '../../serving/serving.ts';
import { createLauncherFileLists } from './launcher-file-list.ts';

/** The version that launchers show if upstream names none, or while there is no release. */
const UNKNOWN_VERSION = '0.0.0';

/**
 * The launcher-compatible routes. Launchers send an `Authorization` header that contains JSON, and their own query
 * parameters; both are ignored.
 */
export function launcherRoutes({ serving, urls, config: { launcher } }: PublicParts): readonly PublicRoute[] {
  const fileLists = createLauncherFileLists(createGlobFilter(launcher));
  const requireChosen = (): CurrentRelease =>
    requireCurrent(serving, chosenChannel(serving, launcher.channel));
  const currentRelease = (): ServedRelease | null => {
    const channel = chosenChannel(serving, launcher.channel);
    return serving.verdict(channel).distributable ? serving.state().current[channel] : null;
  };
  return [
    publicRoute(PUBLIC_OPERATIONS.getLauncherBootstrap, async () => {
      const { release } = requireChosen();
      const files = await fileLists.render(release.index);
      // The list may have taken a while: check again that the release is distributable.
      const { release: current, verdict } = requireChosen();
      const list = current.snapshotId === release.snapshotId ? files : await fileLists.render(current.index);
      const head = `{"source":${JSON.stringify(urls.releasePath(current.releaseId))},"file":[`;
      const tail = `],"distribution":${JSON.stringify(renderHealth(verdict))}}`;
      return {
        status: 200,
        headers: jsonHeaders(NO_STORE),
        body: [Buffer.from(head), ...list.pieces, Buffer.from(tail)],
      };
    }),
    // While nothing is distributable it names version 0.0.0, so that no launcher updates.
    publicRoute(PUBLIC_OPERATIONS.getLauncherGameConfig, async () => {
      for (;;) {
        const release = currentRelease();
        const bytes = release === null ? 0 : await fileLists.totalBytes(release.index);
        // The sum may have taken a while: it must be the one of the release that the answer names.
        if (currentRelease()?.snapshotId === release?.snapshotId)
          return envelope(gameConfig(release, bytes, launcher));
      }
    }),
    // Launchers append "?nocache=..." as text, so the URL must not have a query.
    publicRoute(PUBLIC_OPERATIONS.getLauncherConfigJson, () =>
      envelope({ url: urls.route('/v1/launcher/bootstrap') }),
    ),
    // Launchers drop or overwrite any path of these, so they are scheme, host and port only.
    publicRoute(PUBLIC_OPERATIONS.getLauncherCdn, () =>
      envelope({ back_up_cdn: urls.base, primary_cdn: urls.base }),
    ),
  ];
}

/** Recorded launchers compare `code` and `msg` exactly and refuse further members. */
function envelope(data: unknown): Answer {
  return jsonAnswer({ code: 200, data, msg: 'OK' }, { cacheControl: NO_STORE });
}

/** The twelve fields; strict launchers want exactly these, with these types. */
function gameConfig(
  release: ServedRelease | null,
  bytes: number,
  launcher: ServerConfiguration['launcher'],
): LauncherGameConfig['data'] {
  const version = release?.index.header.app_version ?? UNKNOWN_VERSION;
  return {
    game_lowest_version: launcher.gameLowestVersion ?? version,
    game_latest_version: launcher.gameLatestVersion ?? version,
    game_latest_file_path: launcher.gameLatestFilePath ?? `prod/${release?.releaseId ?? UNKNOWN_VERSION}.zip`,
    game_start_exe_name: launcher.gameStartExeName,
    game_file_size: '',
    game_file_size_type: '',
    crc64: '',
    size: 0,
    file_url: '',
    decompression_size: launcher.decompressionSize ?? renderSize(bytes),
    config_id: 0,
    game_start_params: launcher.gameStartParams,
  };
}

const SIZE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/**
 * A size as launchers read it, such as `1.2GB`. They read the units as powers of 1024: 1 GB is 1024³ bytes. The number is
 * rounded up to a tenth, so that the space named is always enough, and is below 1024 in the unit named.
 */
export function renderSize(bytes: number): string {
  for (const [power, unit] of SIZE_UNITS.entries()) {
    const value = bytes / 1024 ** power;
    const rounded = power === 0 ? value : Math.ceil(value * 10) / 10;
    if (rounded < 1024 || power === SIZE_UNITS.length - 1) return `${rounded}${unit}`;
  }
  throw new Error('a size has one of the units');
}
