# sidekiq against a server: a worker process works jobs of weighted queues; bulk pushes, scheduled jobs, retries, dead jobs, statistics.
# Usage: sidekiq_jobs.rb PORT. Exits with a backtrace at the first failed assertion.
require 'timeout'

ENV['SIDEKIQ_JOBS_PORT'] = ARGV.fetch(0)
require_relative 'sidekiq_tasks'
require 'sidekiq/api'

Sidekiq.logger.level = Logger::ERROR
$statements = 0

def holds(actual, expected)
  $statements += 1
  raise "statement #{$statements}: #{actual.inspect} is not #{expected.inspect}" unless actual == expected
end

def eventually(seconds = 30)
  $statements += 1
  limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  until yield
    raise "statement #{$statements} is still false" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
    sleep 0.02
  end
end

def list(key)
  Sidekiq.redis { |redis| redis.lrange(key, 0, -1) }
end

def queued_before_the_worker_starts
  holds(Recorder.perform_async('done', 'first').length, 24)
  Sidekiq::Client.push_bulk('class' => Recorder, 'args' => (0...200).map { |i| ['bulk', i.to_s] })
  Recorder.set(queue: 'high').perform_async('done', 'high')
  removed = Recorder.perform_async('done', 'removed')
  Recorder.perform_in(3600, 'done', 'in an hour')
  soon = Recorder.perform_in(1, 'done', 'soon')
  queue = Sidekiq::Queue.new('default')
  holds([queue.size, Sidekiq::Queue.new('high').size, Sidekiq::ScheduledSet.new.size], [202, 1, 2])
  holds(Sidekiq::Queue.all.map(&:name).sort, %w[default high])
  holds(queue.find_job(removed).args, %w[done removed])
  holds(queue.find_job(removed).delete, true)
  holds(queue.size, 201)
  holds(Sidekiq::ScheduledSet.new.find_job(soon).klass, 'Recorder')
  holds(Sidekiq::ScheduledSet.new.scan('hour').map { |job| job.args[1] }, ['in an hour'])
end

def worked_by_the_worker
  eventually { list('bulk').length == 200 }
  holds(list('bulk').map(&:to_i).sort, (0...200).to_a)
  eventually { list('done').length == 3 }
  holds(list('done').sort, %w[first high soon])
  holds(Sidekiq::ScheduledSet.new.size, 1)
end

def failures
  Flaky.perform_async('tries', 2)
  Hopeless.perform_async('on purpose')
  Unretried.perform_async
  eventually { Sidekiq::RetrySet.new.size == 1 && Sidekiq::DeadSet.new.size == 1 }
  retried = Sidekiq::RetrySet.new.first
  holds([retried.klass, retried['error_message'], retried['retry_count']], ['Flaky', 'try 1', 0])
  dead = Sidekiq::DeadSet.new.first
  holds([dead.klass, dead['error_class'], dead['error_message']], ['Hopeless', 'ArgumentError', 'on purpose'])
  # Moved to the present, so that the poller enqueues it by its script.
  retried.reschedule(Time.now)
  eventually { Sidekiq.redis { |redis| redis.get('tries') } == '2' && Sidekiq::RetrySet.new.size.zero? }
  dead.retry
  eventually { Sidekiq::DeadSet.new.size == 1 && Sidekiq::DeadSet.new.first.score > dead.score }
  Sidekiq::DeadSet.new.clear
  holds(Sidekiq::DeadSet.new.size, 0)
end

def worker_is_seen
  eventually { Sidekiq::ProcessSet.new.size == 1 }
  process = Sidekiq::ProcessSet.new.first
  holds([process['concurrency'], process['queues'].uniq.sort, process['tag']], [3, %w[default high], 'e2e'])
  process
end

def statistics
  stats = Sidekiq::Stats.new
  # 200 of the bulk, 3 others, and five failures and one success of the retried ones.
  holds([stats.processed, stats.failed], [208, 4])
  holds([stats.enqueued, stats.scheduled_size, stats.retry_size, stats.dead_size], [0, 1, 0, 0])
  holds(stats.queues, { 'default' => 0, 'high' => 0 })
end

def with_worker
  # timeout ends a worker that this script could not end.
  worker = spawn('timeout', '--foreground', '--kill-after=5', '120', 'sidekiq', '-r', File.join(__dir__, 'sidekiq_tasks.rb'), '-c', '3',
                 '-q', 'high,5', '-q', 'default', '-g', 'e2e', out: File::NULL, err: File::NULL, pgroup: true)
  yield worker
  Process.kill('TERM', worker)
  holds(Process.wait2(worker)[1].exitstatus, 0)
  worker = nil
ensure
  if worker
    Process.kill('KILL', -worker)
    Process.wait(worker)
  end
end

Timeout.timeout(100) do
  queued_before_the_worker_starts
  with_worker do
    worked_by_the_worker
    failures
    holds(worker_is_seen.stopping?, false)
  end
  # The figures reach the server with the last heartbeat.
  statistics
  holds(Sidekiq::ProcessSet.new.size, 0)
  Sidekiq::ScheduledSet.new.clear
  holds(Sidekiq.redis(&:flushall), 'OK')
end
puts "#{$statements} statements hold"
