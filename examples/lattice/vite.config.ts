import { pageConfig } from '../page-config.ts';

export default pageConfig(import.meta.dirname, 'lattice');
