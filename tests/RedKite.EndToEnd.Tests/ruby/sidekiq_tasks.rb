# The jobs of sidekiq_jobs.rb, as the worker process loads them.
require 'sidekiq'

# ruby-redis 4.8 announces on the error output what its next version changes.
Redis.silence_deprecations = true

REDIS = { url: "redis://127.0.0.1:#{ENV.fetch('SIDEKIQ_JOBS_PORT')}/0", network_timeout: 30 }.freeze
Sidekiq.configure_client { |config| config.redis = REDIS }
Sidekiq.configure_server do |config|
  config.redis = REDIS
  # How often retries and scheduled jobs are looked for, in seconds.
  config.options[:poll_interval_average] = 0.3
  config.options[:average_scheduled_poll_interval] = 0.3
end

class Recorder
  include Sidekiq::Worker

  def perform(list, value)
    Sidekiq.redis { |redis| redis.rpush(list, value) }
  end
end

class Flaky
  include Sidekiq::Worker
  sidekiq_options retry: 3
  # Sidekiq 6 adds up to ten seconds per try, so that the retry is brought forward by the test itself.
  sidekiq_retry_in { 60 }

  def perform(key, wanted)
    tries = Sidekiq.redis { |redis| redis.incr(key) }
    raise "try #{tries}" if tries < wanted
  end
end

class Hopeless
  include Sidekiq::Worker
  sidekiq_options retry: 0

  def perform(text)
    raise ArgumentError, text
  end
end

class Unretried
  include Sidekiq::Worker
  sidekiq_options retry: false

  def perform
    raise 'gone'
  end
end
