"""`placement.conf` as deployment tools write it: their sections and options, in short."""

# kolla-ansible: ansible/roles/placement/templates/placement.conf.j2
KOLLA = """\
[DEFAULT]
debug = False
log_file = {folder}/placement-api.log
state_path = /var/lib/placement

[oslo_middleware]
enable_proxy_headers_parsing = true

[oslo_concurrency]
lock_path = /var/lib/placement/tmp

[placement_database]
connection = {database}
connection_recycle_time = 10
max_overflow = 1000
max_pool_size = 1
max_retries = -1

[cache]
backend = oslo_cache.memcache_pool
enabled = true
memcache_servers = {memcached}

[keystone_authtoken]
service_type = placement
www_authenticate_uri = {keystone}
auth_url = {keystone}
auth_type = password
project_domain_id = default
user_domain_id = default
project_name = services
username = placement
password = secret
cafile = /etc/ssl/certs/ca-certificates.crt
region_name = one

memcache_security_strategy = ENCRYPT
memcache_secret_key = only-for-tests
memcached_servers = {memcached}

[oslo_policy]
policy_file = {folder}/policy.yaml

[profiler]
enabled = true
trace_sqlalchemy = true
hmac_keys = only-for-tests
connection_string = redis://127.0.0.1:1
"""

# devstack: lib/placement, with configure_keystone_authtoken_middleware and setup_logging
DEVSTACK = """\
[placement_database]
connection = {database}?charset=utf8
[DEFAULT]
debug = True
logging_exception_prefix = ERROR %(name)s
logging_default_format_string = %(color)s%(levelname)s %(name)s [-%(color)s] %(message)s
logging_context_format_string = %(color)s%(levelname)s %(name)s [%(request_id)s] %(message)s
logging_debug_format_suffix = {{{{(pid=%(process)d) %(funcName)s}}}}
[api]
auth_strategy = keystone
[keystone_authtoken]
interface = public
memcached_servers = {memcached}
cafile = /opt/stack/data/ca-bundle.pem
project_domain_name = Default
project_name = services
user_domain_name = Default
password = secret
username = placement
auth_url = {keystone}
auth_type = password
[oslo_policy]
enforce_new_defaults = True
"""

# openstack-helm: placement/values.yaml
HELM = """\
[DEFAULT]
debug = false
log_config_append = /etc/placement/logging.conf
use_syslog = false
[keystone_authtoken]
auth_type = password
auth_url = {keystone}
auth_version = v3
memcache_secret_key = only-for-tests
memcache_security_strategy = ENCRYPT
memcached_servers = {memcached}
password = secret
project_domain_name = default
project_name = services
region_name = one
service_token_roles = service
service_token_roles_required = true
service_type = placement
user_domain_name = default
username = placement
[oslo_concurrency]
lock_path = /var/lock
[placement_database]
connection = {database}
"""

# puppet-placement: manifests db, logging, api, cors, policy, keystone/authtoken
PUPPET = """\
[DEFAULT]
debug = False
log_dir = /var/log/placement
use_syslog = False
use_journal = False
use_stderr = False
state_path = /var/lib/placement
[api]
auth_strategy = keystone
[placement]
randomize_allocation_candidates = False
allocation_conflict_retry_count = 10
[placement_database]
connection = {database}
slave_connection = mysql+pymysql://replica/placement
connection_recycle_time = 3600
max_pool_size = 5
max_retries = 10
retry_interval = 10
max_overflow = 50
connection_debug = 0
connection_trace = False
mysql_sql_mode = TRADITIONAL
sync_on_startup = False
[keystone_authtoken]
www_authenticate_uri = {keystone}
auth_url = {keystone}
auth_type = password
username = placement
password = secret
project_name = services
user_domain_name = Default
project_domain_name = Default
memcached_servers = {memcached}
memcache_use_advanced_pool = True
[cors]
allowed_origin = https://dashboard.example
max_age = 3600
[oslo_middleware]
enable_proxy_headers_parsing = True
max_request_body_size = 114688
[oslo_policy]
enforce_new_defaults = True
policy_default_rule = default
policy_dirs = policy.d
"""

BY_TOOL = {"kolla": KOLLA, "devstack": DEVSTACK, "helm": HELM, "puppet": PUPPET}
