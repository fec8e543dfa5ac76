/** The pages of the section, which are loaded together. */

export { compareView } from './compare-view.tsx';
export { releasesView } from './releases-view.tsx';
