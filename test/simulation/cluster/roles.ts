// Loads all roles, which tell the stand-in of their life cycle how to build them.
import '../../../services/broker/src/main.ts'
import '../../../services/coordinator/src/main.ts'
import '../../../services/historical/src/main.ts'
import '../../../services/overlord/src/main.ts'
import '../../../services/router/src/main.ts'
import '../../../services/worker/src/main.ts'
