import process from 'node:process';
import { anchorOf, extendMarkdown } from '../markdown.ts';
import { LEFT_OUT, ROOT, placeOf } from '../pages.ts';
import { buildSidebar } from '../sidebar.ts';

export default {
  title: 'Slipway',
  description: 'Serves verified game-resource releases from Kubernetes: sync, prove, attest, distribute.',
  lang: 'en',
  base: process.env['SLIPWAY_SITE_BASE'] ?? '/',
  srcDir: ROOT,
  srcExclude: LEFT_OUT,
  outDir: process.env['SLIPWAY_SITE_FOLDER'],
  cacheDir: `${ROOT}/.tools/docs-site`,
  rewrites: placeOf,
  metaChunk: true,
  markdown: {
    config: extendMarkdown,
    anchor: { slugify: anchorOf },
    // Texts of code have enough contrast in both.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    languageAlias: { vcl: 'c', squid: 'ini', console: 'shellsession' },
  },
  themeConfig: {
    nav: [
      { text: 'All pages', link: '/all-pages' },
      { text: 'API', link: '/reference/api' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    sidebar: buildSidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
  },
  vite: {
    logLevel: 'warn',
    publicDir: false,
    build: { target: 'es2022', chunkSizeWarningLimit: 8_000, reportCompressedSize: false },
  },
};
