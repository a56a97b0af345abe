FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 DATA_DIR=/data

RUN useradd --system --uid 10001 --create-home --home-dir /home/concord concord \
    && install -d -o concord -g concord -m 0700 /data
WORKDIR /app
COPY requirements.lock ./
RUN pip install --require-hashes --only-binary :all: -r requirements.lock
COPY manage.py ./
COPY accounts accounts
COPY agreement agreement
COPY annotation annotation
COPY config config
COPY docs docs
COPY ingest ingest
COPY shared shared
COPY static static
COPY taxonomy taxonomy
COPY templates templates
RUN DATA_DIR=/tmp/build DATABASE_URL=postgresql://nobody@nowhere/none REDIS_URL=redis://nowhere \
    python manage.py collectstatic --no-input --verbosity 0 && rm -rf /tmp/build

ARG CONCORD_COMMIT=""
ENV CONCORD_COMMIT=$CONCORD_COMMIT
USER concord
VOLUME /data
EXPOSE 8000
CMD ["gunicorn", "--config", "python:config.gunicorn", "--bind", "0.0.0.0:8000", "--worker-tmp-dir", "/dev/shm", \
     "config.wsgi"]
