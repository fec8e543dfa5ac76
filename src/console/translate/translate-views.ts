/** The pages of the section, which are loaded together. */

export { editorView } from './editor/editor-view.tsx';
export { glossaryView } from './glossary-view.tsx';
export { machineView } from './machine/machine-view.tsx';
export { memoryView } from './memory-view.tsx';
export { publishView } from './publish/publish-view.tsx';
export { queueView } from './queue-view.tsx';
export { reviewView } from './review/review-view.tsx';
export { searchView } from './search/search-view.tsx';
